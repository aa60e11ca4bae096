// @ts-check
// The tab of the flame: its choices, search, zoom, keyboard, and the text about it.
import { choices } from "../data/choices.js";
import { byId, hideTip, make, makeButton, makeChoice, makeSearch, showTip } from "../elements/dom.js";
import { Flame } from "../charts/flame.js";
import { FlameTable } from "../charts/flame_table.js";
import { formatBytes, formatCount, formatShare } from "../elements/format.js";
import { chosenSet, makeKindChoice, sayKind, sumOf } from "./kinds.js";
import { makeSaveButtons } from "../elements/save.js";
import { fillLegend } from "../elements/table.js";

/** @type {[string, string][]} */
const FRAME_MODES = [["whole", "whole stack"], ["own", "own code"]];

export class FlameView {
  /** @type {FlameTable} */ twin;
  /** @type {{refresh: () => void}[]} */ choices;

  /**
   * @param {import("../data/model.js").Model} model
   * @param {(kind: string) => void} setKind
   */
  constructor(model, setKind) {
    this.model = model;
    this.treeOf = "";
    /** @type {Flame | null} made when it is first shown */
    this.flame = null;
    this.leftOut = 0;
    /** @type {any} */
    this.colours = null;
    this.build(setKind);
  }

  /** @param {(kind: string) => void} setKind */
  build(setKind) {
    const tools = make("div", "tools");
    this.search = makeSearch("Find frames", "function or file", () => choices.get("frame"), (text) => choices.set("frame", text));
    this.found = make("span", "facts");
    this.out = makeButton("Whole program", () => this.zoomTo(0));
    const invert = this.makeSwitch("Invert", "invert", "no");
    this.kinds = makeKindChoice(this.model, setKind);
    const native = this.makeSwitch("Native frames", "native", "yes");
    native.hidden = !this.model.page.frames.some((/** @type {any} */ one) => one.is_native);
    const keyModes = this.model.keys.map((key) => /** @type {[string, string]} */ ([key, key + " first"]));
    const modes = makeChoice("Flame of", [...FRAME_MODES, ...keyModes], () => this.mode, (mode) => this.remake("frames", mode, "whole"));
    const widths = makeChoice("Widths are", [["bytes", "bytes"], ["blocks", "blocks"]], () => this.measure, (measure) => this.remake("widths", measure, "bytes"));
    this.choices = [invert, native, modes, widths];
    tools.append(this.search, this.kinds, modes, widths, invert, native, this.out, this.found);
    this.twin = new FlameTable((node) => this.zoomTo(node));
    this.kindText = make("p", "say");
    this.canvas = make("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Stacks by what they hold. Arrow keys walk, Enter zooms in, Backspace zooms out. Below is the same as a table.");
    this.frameText = make("p", "unseen");
    this.frameText.setAttribute("aria-live", "polite");
    this.legend = make("ul");
    tools.append(...makeSaveButtons({ name: "flame", canvas: this.canvas, draw: () => this.flame && this.flame.draw(this.colours), colours: () => this.colours, legend: this.legend }));
    this.note = make("p", "note");
    this.note.id = "flame-sum";
    byId("flame").append(tools, this.kindText, this.canvas, this.frameText, this.legend, this.note, this.twin.box);
    this.listen();
  }

  get mode() {
    return choices.get("frames", "whole");
  }

  get measure() {
    return choices.get("widths", "bytes");
  }

  /**
   * A button that is pressed or not.
   * @param {string} text
   * @param {string} word of the address
   * @param {string} first "yes" or "no"
   */
  makeSwitch(text, word, first) {
    const button = makeButton(text, () => this.remake(word, choices.get(word, first) === "yes" ? "no" : "yes", first));
    button.refresh = () => button.setAttribute("aria-pressed", String(choices.get(word, first) === "yes"));
    button.refresh();
    return button;
  }

  /**
   * Another tree: nothing is zoomed in it.
   * @param {string} word
   * @param {string} value
   * @param {string} first
   */
  remake(word, value, first) {
    choices.words.delete("root");
    choices.set(word, value, first);
  }

  listen() {
    const canvas = this.canvas;
    canvas.onclick = (/** @type {MouseEvent} */ event) => {
      const node = this.flame ? this.flame.nodeAt(event) : -1;
      if (node >= 0) this.zoomTo(node);
    };
    canvas.onpointermove = (/** @type {PointerEvent} */ event) => {
      const node = this.flame ? this.flame.nodeAt(event) : -1;
      canvas.style.cursor = node >= 0 ? "pointer" : "";
      if (node < 0) return hideTip();
      showTip(event, this.textsOf(node).map((text) => ({ text })));
    };
    canvas.onpointerleave = hideTip;
    canvas.onfocus = canvas.onblur = () => this.flame && this.flame.draw(this.colours);
    canvas.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      const { flame } = this;
      if (!flame) return;
      if (event.key.startsWith("Arrow")) flame.walk(event.key);
      else if (event.key === "Enter") this.zoomTo(flame.current);
      else if (event.key === "Backspace") this.zoomTo(Math.max(0, flame.tree.parent[flame.root]));
      else return;
      event.preventDefault();
      event.stopPropagation();
      this.frameText.textContent = this.textsOf(flame.current).join(", ");
      flame.draw(this.colours);
    };
  }

  /**
   * @param {number} node
   * @returns {string[]}
   */
  textsOf(node) {
    const flame = /** @type {Flame} */ (this.flame);
    const { tree, names } = flame;
    const name = names[tree.name[node]];
    const amount = tree.total[node];
    const texts = [name.function || name.file];
    if (name.code) texts.push(name.code);
    if (name.file) texts.push(name.line ? `${name.file}:${name.line}` : name.file);
    const zoomed = flame.root > 0 ? `, ${formatShare(amount / tree.total[flame.root])} of the part shown` : "";
    texts.push(`${this.format(amount)}, ${formatShare(amount / tree.total[0])} of ${this.model.kind === "now" ? "this moment" : "all of this"}${zoomed}`);
    return texts.map((text) => text.slice(0, 400));
  }

  /** @param {number} node */
  zoomTo(node) {
    if (!this.flame) return;
    this.flame.current = node;
    choices.set("root", String(node), "0");
  }

  /** @param {number} amount */
  format(amount) {
    return this.measure === "bytes" ? formatBytes(amount) : `${formatCount(amount)} block${amount === 1 ? "" : "s"}`;
  }

  /**
   * The widths, by context.
   * @param {import("../data/model.js").LiveSet} set
   */
  weightsOf(set) {
    return this.measure === "bytes" ? set.bytes : set.count;
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    const { model } = this;
    const shown = chosenSet(model);
    const [inverted, withNative] = [choices.get("invert") === "yes", choices.get("native", "yes") === "yes"];
    const treeOf = [model.kind, this.mode, this.measure, inverted, withNative].join();
    if (!this.flame || this.treeOf !== treeOf) {
      // Siblings keep their order while the moment moves: that of the peak.
      const order = model.kind === "now" ? model.live.at(Math.floor(model.page.peak.point / model.ratio)) : shown;
      const { tree, names, leftOut } = model.tree(this.mode, inverted, this.weightsOf(order), withNative);
      this.treeOf = treeOf;
      this.flame = new Flame(this.canvas, tree, names);
      this.leftOut = leftOut;
    }
    const { flame } = this;
    flame.root = Math.min(flame.tree.count - 1, Math.max(0, Math.trunc(Number(choices.get("root", "0"))) || 0));
    this.search.refresh();
    for (const one of this.choices) one.refresh();
    flame.tree.measure(this.weightsOf(shown), model.numbers.category);
    if (flame.tree.total[flame.root] === 0) flame.root = 0;
    const { bytes: amount, count } = flame.search(this.search.value);
    this.found.textContent = this.search.value.trim()
      ? `${formatCount(count)} found, ${this.format(amount)}, ${formatShare(amount / (flame.tree.total[0] || 1))}` : "";
    this.out.hidden = flame.root === 0;
    flame.draw(this.colours);
    this.kinds.refresh();
    this.kindText.textContent = sayKind(model, shown);
    this.kindText.hidden = model.kind === "now";
    fillLegend(this.legend, model.categories(shown), model.page.categories);
    const frames = this.mode === "own" ? "frames outside your code" : "frames that only pass a call on";
    this.twin.fill(flame, (amount) => this.format(amount));
    this.note.dataset.bytes = String(sumOf(shown.bytes));
    this.note.dataset.total = String(flame.tree.total[0]);
    this.note.textContent = `Widths are ${this.measure}${model.kind === "now" ? " held at the moment above" : ""}. Coloured frames are of one category, grey ones of several.` +
      (this.leftOut ? ` Left out: ${formatCount(this.leftOut)} ${frames}.` : "") +
      (flame.tree.joined ? ` The ${formatCount(flame.tree.joined)} smallest frames are joined, one \u201cother\u201d for each caller, with their exact sum.` : "");
  }
}
