// @ts-check
// Elements, colours and the tip. Names come from the program: they are only ever set as text.
import { SERIES_KINDS } from "../data/series.js";

/**
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/** Characters that turn the direction of the text behind them. */
const DIRECTION_MARKS = /([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+)/g;

/**
 * @param {string} tag `bdi`: a name of the program, which keeps its direction to itself
 * @param {string} [kind] the class
 * @param {string} [text]
 * @returns {any}
 */
export function make(tag, kind, text) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (tag === "bdi") element.append(...partsOfName(text || ""));
  else if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * A mark of direction would show a name the wrong way round: it stays in the text, unseen, and "?" is shown.
 * @param {string} text
 */
function partsOfName(text) {
  return text.split(DIRECTION_MARKS).map((part, i) => {
    if (i % 2 === 0) return part;
    const mark = make("span", "mark");
    const unseen = make("span", "", part);
    unseen.hidden = true;
    mark.append(unseen);
    return mark;
  });
}

/**
 * @param {string} text
 * @param {() => void} onclick
 * @param {string} [kind] the class
 * @returns {any}
 */
export function makeButton(text, onclick, kind = "button") {
  const button = make("button", kind, text);
  button.type = "button";
  button.onclick = onclick;
  return button;
}

/**
 * A location in a sentence: its direction of writing ends with it.
 * @param {string} key
 */
export function makePlaceText(key) {
  const code = make("code");
  code.append(make("bdi", "", shortName(key)));
  return code;
}

/**
 * A name of the program may have any length.
 * @param {string} name
 */
export function shortName(name) {
  return name.length > 400 ? name.slice(0, 250) + " \u2026 " + name.slice(-120) : name;
}

/**
 * A field to search with; `refresh()` shows a text chosen elsewhere.
 * @param {string} label
 * @param {string} placeholder
 * @param {() => string} chosen
 * @param {(text: string) => void} choose
 */
export function makeSearch(label, placeholder, chosen, choose) {
  const field = make("input");
  field.type = "search";
  field.placeholder = placeholder;
  field.setAttribute("aria-label", label);
  field.oninput = () => choose(field.value);
  field.refresh = () => {
    if (field.value !== chosen()) field.value = chosen();
  };
  return field;
}

/**
 * A row of buttons of which one is pressed; `refresh()` shows a choice made elsewhere.
 * @param {string} label
 * @param {(string | [string, string])[]} words each with its text, if that is another one
 * @param {() => string} chosen
 * @param {(word: string) => void} choose
 */
export function makeChoice(label, words, chosen, choose) {
  const group = make("span", "choice");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = words.map((one) => {
    const [word, text] = typeof one === "string" ? [one, one] : one;
    const button = makeButton(text, () => {
      choose(word);
      show();
    }, "");
    group.append(button);
    return { word, button };
  });
  const show = () => {
    for (const { word, button } of buttons) button.setAttribute("aria-pressed", String(word === chosen()));
  };
  show();
  group.refresh = show;
  return group;
}

/**
 * The class of a category, which has its colour.
 * @param {string} name
 */
export function classOf(name) {
  return /^[a-zA-Z -]+$/.test(name) ? name.toLowerCase().replaceAll(" ", "-") : "unknown";
}

/**
 * Colours of the theme in use, as a canvas takes them.
 * @param {string[]} categories
 */
export function readColours(categories) {
  const probe = make("i");
  document.body.append(probe);
  /**
   * @param {string} name
   * @returns {string}
   */
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    background: read("bg"), soft: read("soft"), line: read("line"), text: read("text"), muted: read("muted"),
    accent: read("accent"), accentSoft: read("accent-soft"), frame: read("frame"), hit: read("hit"), hitText: read("hit-text"),
    fill: categories.map((name) => read(classOf(name))),
    on: categories.map((name) => read("on-" + classOf(name))),
    series: SERIES_KINDS.map(read),
    onSeries: SERIES_KINDS.map((name) => read("on-" + name)),
    rest: read("kept"),
  };
  probe.remove();
  return colours;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} height CSS pixels
 */
export function sizeCanvas(canvas, height) {
  const recorder = /** @type {any} */ (canvas).pen;  // of save.js
  if (recorder) {
    recorder.height = height;
    return { pen: recorder, width: canvas.clientWidth };
  }
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px Inter, system-ui, sans-serif";
  pen.textBaseline = "middle";
  return { pen, width };
}

/**
 * Text cut to a width.
 * @param {CanvasRenderingContext2D} pen
 * @param {string} text
 * @param {number} room
 */
export function fitText(pen, text, room) {
  // A mark of direction would turn the text that follows it.
  const plain = text.replace(DIRECTION_MARKS, "");
  const short = plain.length > 200 ? plain.slice(0, 200) : plain;
  if (pen.measureText(short).width <= room) return short;
  let kept = Math.min(short.length, Math.floor(room / 5));
  while (kept > 0 && pen.measureText(short.slice(0, kept) + "\u2026").width > room) kept--;
  return kept > 1 ? short.slice(0, kept) + "\u2026" : "";
}

/**
 * A text over a chart, on a ground of its own.
 * @param {CanvasRenderingContext2D} pen
 * @param {any} colours
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {"left" | "center" | "right"} align of the text at x
 */
export function drawOnGround(pen, colours, text, x, y, align = "left") {
  const width = pen.measureText(text).width;
  const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  pen.fillStyle = colours.background;
  pen.globalAlpha = 0.8;
  pen.fillRect(left - 2, y - 8, width + 4, 16);
  pen.globalAlpha = 1;
  pen.fillStyle = colours.muted;
  pen.textAlign = align;
  pen.fillText(text, x, y);
  pen.textAlign = "left";
}

/**
 * @param {{clientX: number, clientY: number}} at
 * @param {{text: string, kind?: string}[]} rows
 */
export function showTip(at, rows) {
  const tip = byId("tip");
  tip.replaceChildren(...rows.map(({ text, kind }) => {
    const row = make("div");
    if (kind) row.append(make("i", kind));
    row.append(text.replace(DIRECTION_MARKS, "?"));
    return row;
  }));
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(innerWidth - tip.offsetWidth - 8, at.clientX + 14)) + "px";
  tip.style.top = Math.max(8, Math.min(innerHeight - tip.offsetHeight - 8, at.clientY + 14)) + "px";
}

export function hideTip() {
  byId("tip").hidden = true;
}

/**
 * The buttons of a chart that can be looked at more closely.
 * @param {(factor: number) => void} zoom
 */
export function makeZoomButtons(zoom) {
  const words = /** @type {[string, number, string][]} */ ([["+", 2, "Closer"], ["\u2212", 0.5, "Wider"]]);
  return words.map(([text, factor, name]) => {
    const button = makeButton(text, () => zoom(factor));
    button.setAttribute("aria-label", name);
    return button;
  });
}
