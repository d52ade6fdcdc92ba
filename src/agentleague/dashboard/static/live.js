"use strict";
// Keeps a page current. The server sends the HTML of <main> when it has changed; of it, the
// sections with data-live are taken over, node by node, so that nothing else on the page moves.
// Nothing here makes HTML from data, so names stay text.

const [main, bar, said] = ["main", "connection", "said"].map((id) => document.getElementById(id));
const REST_MS = 1500; // A section is left alone for so long after the pointer moved over it.
const [RETRY_SECONDS, TURN_MS] = [3, 15000]; // The latter is of pages on a wall.

let source = null; // the event stream
let [newest, taken] = [null, new Set()]; // the newest <main>, and the sections taken from it
let [lastGood, retryIn] = [new Date(), 0];
let pointerAt = -REST_MS;
let lastSaid = Number(document.querySelector(".happenings [data-key]")?.dataset.key || 0);

const [FRESH_MAX, ROWS_MAX] = [20, 100]; // Of more rows, none lights up, or slides.
const REST = 5; // times as long as it took to take something over, so that a page can be used
let [restsUntil, fresh] = [0, []]; // the latter: nodes with a new result
const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const liveIds = (root) => [...root.querySelectorAll("[data-live]")].map((each) => each.id);

function isInUse(section) {
  const selection = getSelection();
  const isPointed = section.matches(":hover") && performance.now() - pointerAt < REST_MS;
  const isSelected = !selection.isCollapsed && section.contains(selection.anchorNode);
  return isPointed || isSelected || section.querySelector(":focus-visible");
}

const resultIn = (row) => row.querySelector(".points, .versus")?.textContent;

// Make an element like another one; children with data-key are found again wherever they stand.
function patch(old, wanted) {
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const known = new Map();
  for (const each of old.children) if (each.dataset.key) known.set(each.dataset.key, each);
  let at = old.firstChild;
  for (const next of [...wanted.childNodes]) {
    const key = next.dataset?.key;
    const same = key ? known.get(key) : at;
    if (!same || same.nodeName !== next.nodeName || (!key && same.dataset?.key)) {
      old.insertBefore(next, at);
      if (key) fresh.push(next);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    if (same.isEqualNode(next)) continue;
    if (key && resultIn(same) !== resultIn(next)) fresh.push(same);
    if (same.nodeType !== Node.ELEMENT_NODE) same.data = next.data;
    else patch(same, next);
  }
  while (at) [at] = [at.nextSibling, at.remove()];
}

// Rows slide from where they were to where they are.
function patchSliding(section, wanted) {
  const all = [...section.querySelectorAll("tr[data-key]")];
  const rows = isCalm() || all.length > ROWS_MAX ? [] : all;
  const before = rows.map((row) => row.getBoundingClientRect().top);
  fresh = [];
  patch(section, wanted);
  taken.add(section.id);
  const from = rows.map((row, index) => before[index] - row.getBoundingClientRect().top);
  rows.forEach((row, index) => {
    const slide = [{ transform: `translateY(${from[index]}px)` }, { transform: "none" }];
    if (row.isConnected && from[index]) row.animate(slide, { duration: 300, easing: "ease-out" });
  });
  if (isCalm() || fresh.length > FRESH_MAX) return;
  for (const each of fresh) each.animate([{ backgroundColor: "var(--fresh)" }, {}], 200);
}

function takeOver() {
  const began = performance.now();
  if (!newest || began < restsUntil) return;
  let isWaiting = false;
  if (liveIds(main).join() !== liveIds(newest).join()) {
    if (isInUse(main)) return;
    main.replaceChildren(...newest.cloneNode(true).childNodes);
  }
  for (const section of main.querySelectorAll("[data-live]")) {
    const wanted = newest.querySelector(`#${CSS.escape(section.id)}`);
    if (taken.has(section.id) || section.isEqualNode(wanted)) continue;
    if (isInUse(section)) isWaiting = true;
    else patchSliding(section, wanted.cloneNode(true));
  }
  if (!isWaiting) newest = null;
  restsUntil = performance.now() + REST * (performance.now() - began);
  for (const each of document.querySelectorAll("[data-from]")) {
    each.textContent = document.getElementById("state").dataset[each.dataset.from];
  }
  const result = main.querySelector("[data-kind=match_decided]");
  if (result && Number(result.dataset.key) > lastSaid) {
    lastSaid = Number(result.dataset.key);
    said.textContent = result.querySelector("a").textContent;
  }
}

function showBar(seconds) {
  retryIn = seconds;
  if (!seconds) lastGood = new Date();
  const stood = `This is how it stood at ${lastGood.toISOString().slice(11, 19)} UTC.`;
  bar.textContent = `The dashboard does not answer. ${stood} Trying again in ${seconds} s.`;
  bar.hidden = !seconds;
}

function connect() {
  source?.close();
  source = new EventSource(`/events?page=${encodeURIComponent(location.pathname + location.search)}`);
  source.addEventListener("page", (event) => {
    newest = new DOMParser().parseFromString(event.data, "text/html").body;
    taken = new Set();
    takeOver();
  });
  for (const kind of ["open", "page", "state"]) source.addEventListener(kind, () => showBar(0));
  source.onerror = () => (source.close(), showBar(RETRY_SECONDS));
}

function everySecond() {
  for (const each of document.querySelectorAll("[data-seconds]")) {
    each.dataset.seconds = Math.max(0, each.dataset.seconds - 1);
    each.textContent = `${each.dataset.seconds} s`;
  }
  takeOver();
  if (retryIn > 1) showBar(retryIn - 1);
  else if (retryIn && !document.hidden) connect();
}

async function turnPage() {
  const next = document.querySelector("link[rel=next]").href;
  const answer = await fetch(next).catch(() => null);
  if (answer?.ok) location.replace(next);
  else setTimeout(turnPage, 5000); // A wall without a server keeps what it shows.
}

addEventListener("pointermove", () => (pointerAt = performance.now()), { passive: true });
document.addEventListener("visibilitychange", () => (document.hidden ? source.close() : connect()));
for (const each of document.querySelectorAll("[data-address]")) {
  const isHere = /^(127\.|localhost$|\[::1)/.test(location.hostname); // Others call it otherwise.
  each.textContent = ((isHere && each.dataset.origin) || location.origin) + each.dataset.address;
}
if (document.querySelector("link[rel=next]")) setTimeout(turnPage, TURN_MS);
setInterval(everySecond, 1000);
connect();
