// What is measured in a page: each function returns what is wrong, as sentences.

// Colours as the browser paints them, one over the other.
const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

function painted(colours) {
  for (const each of colours) {
    probe.fillStyle = each;
    probe.fillRect(0, 0, 1, 1);
  }
  return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

function luminance(rgb) {
  const linear = rgb.map((each) => each / 255).map((each) =>
    each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(at) {
  const ancestors = [];
  for (let each = at; each; each = each.parentElement) ancestors.unshift(getComputedStyle(each));
  const below = ["Canvas", ...ancestors.map((each) => each.backgroundColor)];
  const opacity = ancestors.reduce((product, each) => product * each.opacity, 1);
  const ink = at.closest("svg") ? getComputedStyle(at).fill : getComputedStyle(at).color;
  const back = painted(below);
  const front = painted([...below, ink]).map((each, n) => each * opacity + back[n] * (1 - opacity));
  const [dark, light] = [luminance(front), luminance(back)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// Text that is too pale to read.
function pale() {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const [words, at] = [walker.currentNode.data.trim(), walker.currentNode.parentElement];
    const isShown = at.checkVisibility({ visibilityProperty: true });
    if (!words || !isShown || at.closest(".unseen, title, desc, noscript")) continue;
    const ratio = contrast(at).toFixed(2);
    if (ratio < 4.5) found.add(`${at.tagName}.${at.getAttribute("class")} "${words}": ${ratio}`);
  }
  return [...found];
}

// What a screen reader would not understand.
function unnamed() {
  const all = (what) => [...document.querySelectorAll(what)];
  const label = (at) => at.getAttribute("aria-label")?.trim();
  const title = (at) => at.querySelector(":scope > title")?.textContent.trim();
  const role = (at) => (at.querySelector("[data-move]") ? "group" : "img");
  const ids = all("[id]").map((at) => at.id);
  const faults = {
    "a picture without role": all("svg").filter((at) => at.getAttribute("role") !== role(at)),
    "a move without name": all("[data-move]").filter((at) => !label(at)),
    "a picture without name": all("svg").filter((at) => !label(at) && !title(at)),
    "a header without scope": all("th").filter((at) => !at.scope),
    "a table without caption": all("table").filter((at) => !at.caption),
    "a field without label": all("input:not([type=hidden])").filter((at) => !at.labels.length),
    "a link without words": all("a, button").filter((at) => !label(at) && !at.textContent.trim()),
    "more than one title": all("h1").slice(1),
    "an id that is there twice": all("[id]").filter((at, n) => ids.indexOf(at.id) < n),
    "HTML of a stranger": all("img, iframe, main script"),
  };
  return Object.entries(faults).flatMap(([fault, found]) =>
    found.map((at) => `${fault}: ${at.outerHTML.slice(0, 200)}`),
  );
}

// What does not fit: a page that scrolls sideways, a table that lies over what is beside it, and
// on a phone a button too small for a thumb.
function cramped() {
  const wide = document.documentElement.scrollWidth;
  const pressed = "button, input:not([type=hidden]), [data-move]";
  const buttons = [...document.querySelectorAll(pressed)];
  const spilling = [...document.querySelectorAll(".scroll")].filter((at) => {
    const isVisible = getComputedStyle(at).overflowX === "visible";
    return isVisible && at.scrollWidth > at.clientWidth + 1;
  });
  const small = buttons.filter((at) => {
    if (innerWidth > 400) return false;
    const { width, height } = at.getBoundingClientRect();
    return at.checkVisibility() && Math.min(width, height) < 40;
  });
  return [
    ...(wide > innerWidth ? [`the page is ${wide} px wide`] : []),
    ...spilling.map((at) => `${at.getAttribute("aria-label")} has ${at.scrollWidth} px`),
    ...small.map((at) => `too small: ${at.outerHTML}`),
  ];
}

// What cannot be read from the last row of a room: small text, or what only scrolling shows.
function unreadable() {
  const { scrollWidth, scrollHeight } = document.documentElement;
  const texts = [...document.querySelectorAll("body *")].filter((at) =>
    [...at.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim()),
  );
  const small = texts.filter((at) => {
    const isShown = at.checkVisibility() && !at.closest(".unseen, .skip");
    return isShown && parseFloat(getComputedStyle(at).fontSize) < 0.025 * innerHeight;
  });
  const isLarge = scrollWidth > innerWidth || scrollHeight > innerHeight;
  return [
    ...(isLarge ? [`the page is ${scrollWidth} x ${scrollHeight} px`] : []),
    ...small.map((at) => `${getComputedStyle(at).fontSize}: ${at.outerHTML.slice(0, 200)}`),
  ];
}

// Where the focus cannot be seen: what the Tab key reaches now, before and after.
function unfocused() {
  const style = getComputedStyle(document.activeElement);
  const isSeen = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none";
  return isSeen ? [] : [document.activeElement.outerHTML.slice(0, 200)];
}
