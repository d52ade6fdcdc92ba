"use strict";
// The table of a person: the page is complete without this; here it changes by itself.
(() => {
  const connection = document.getElementById("connection");
  const said = document.getElementById("said");
  const table = () => document.getElementById("table");
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  let until = 0;
  let goneSince = ""; // when the connection was lost
  let polling = null;

  function prepare() {
    const at = table();
    until = performance.now() + 1000 * Number(at.dataset.seconds);
    at.classList.add("scripted");
    const head = at.querySelector("h1").textContent;
    document.title = head;
    said.textContent = head;
    tick();
  }

  function tick() {
    const clock = document.getElementById("clock");
    if (!clock) return;
    const left = Math.max(0, Math.ceil((until - performance.now()) / 1000));
    const text = left >= 60 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : `${left} s`;
    if (goneSince) clock.textContent = "unknown time left";
    else clock.textContent = left ? `${text} left` : "time is over";
    clock.classList.toggle("urgent", left <= 10 && !goneSince);
  }

  function show(html) {
    const typed = () => [...table().querySelectorAll("input:not([type=hidden])")];
    const kept = new Map(typed().map((each) => [each.name, each.value]));
    const focus = document.activeElement && document.activeElement.name;
    const unfolded = [...table().querySelectorAll("details[open]")].map((each) => each.className);
    document.getElementById("main").innerHTML = html;
    for (const each of typed()) {
      if (kept.get(each.name)) each.value = kept.get(each.name);
      if (each.name === focus) each.focus();
    }
    for (const each of table().querySelectorAll("details")) each.open = unfolded.includes(each.className);
    prepare();
  }

  function complain(words) {
    let at = document.getElementById("problem");
    if (!at) {
      at = document.createElement("p");
      Object.assign(at, { id: "problem", className: "bar" });
      at.setAttribute("role", "alert");
      table().prepend(at);
    }
    at.textContent = words;
  }

  async function follow() {
    for (let failures = 0; !["over", "left"].includes(table().dataset.status); ) {
      polling = new AbortController();
      try {
        const known = encodeURIComponent(table().dataset.version);
        const answer = await fetch(`/play/state?version=${known}`, { signal: polling.signal });
        if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
        const told = await answer.json();
        failures = 0;
        goneSince = "";
        connection.hidden = true;
        if (told.version !== table().dataset.version) show(told.html);
        else until = performance.now() + 1000 * told.seconds_left;
      } catch (error) {
        if (error.name === "AbortError") continue;
        failures += 1;
        connection.hidden = false;
        goneSince = goneSince || new Date().toLocaleTimeString();
        connection.textContent = `No connection to the league since ${goneSince}. This page comes back by itself.`;
        tick();
        await pause(Math.min(500 * 2 ** failures, 5000));
      }
    }
  }

  async function play(form, move) {
    const fields = new URLSearchParams({ turn_id: form.elements.turn_id.value, move });
    const at = table();
    if (at.classList.contains("sent")) return;
    at.classList.add("sent");
    try {
      const headers = { Accept: "application/json" };
      const answer = await fetch("/play/move", { method: "POST", body: fields, headers });
      const told = await answer.json();
      if (told.problem) complain(told.problem);
    } catch {
      complain("The move did not arrive. Try again.");
    }
    at.classList.remove("sent");
    polling?.abort();
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.moves")) return;
    event.preventDefault();
    const typed = event.submitter?.name === "move" ? event.submitter : event.target.elements.move;
    typed.classList.add("chosen");
    play(event.target, typed.value);
  });
  function onBoard(event) {
    const cell = event.target.closest("[data-move]");
    const form = table().querySelector("form.moves");
    const isMeant = event.type === "click" || event.key === "Enter" || event.key === " ";
    if (!cell || !form || !isMeant) return;
    event.preventDefault();
    cell.classList.add("chosen");
    play(form, cell.dataset.move);
  }
  document.addEventListener("click", onBoard);
  document.addEventListener("keydown", onBoard);
  setInterval(tick, 250);
  prepare();
  follow();
})();
