// @ts-check
// The table of tabs, and the views that draw them: they share the moment shown and the colours.
import { choices } from "./data/choices.js";
import { byId, hideTip, make, readColours } from "./elements/dom.js";
import { DifferencesView } from "./views/differences_view.js";
import { FlameView } from "./views/flame_view.js";
import { GrowthView } from "./views/growth_view.js";
import { LinesView } from "./views/lines_view.js";
import { MapView } from "./views/map_view.js";
import { ModulesView } from "./views/modules_view.js";
import { MomentBar } from "./views/moment_bar.js";
import { OomView } from "./views/oom_view.js";
import { PhasesView } from "./views/phases_view.js";
import { PlanView } from "./views/plan_view.js";
import { RanksView } from "./views/ranks_view.js";
import { SummaryView } from "./views/summary_view.js";
import { TensorsView } from "./views/tensors_view.js";
import { TimelineView } from "./views/timeline_view.js";

/**
 * The view of a tab makes its elements once, and draws the moment of the model whenever that changes.
 * The key "/" focuses `search`, "+" and "-" call `zoom`, "," and "." call `stepEvent`.
 * @typedef {{show: (colours: any) => void, search?: HTMLInputElement, zoom?: (factor: number) => void,
 *   stepEvent?: (step: number) => void}} View
 * @typedef {import("./data/model.js").Model} Model
 * @typedef {{model: Model, setWindow: import("./views/moment_bar.js").SetWindow, setKind: (kind: string) => void,
 *   setStacked: (stacked: string) => void, openFile: (address: string) => void, showLine: (text: string) => void,
 *   showTensors: (words: Record<string, string>) => void, showMapOf: (refused: number) => void}} Needs
 * `hasBar`: whether it shows the moment of the bar. `isUsed`: without it, always; a tab that has
 * nothing to show is hidden.
 * @typedef {{id: string, text: string, make: (needs: Needs) => View, hasBar?: (model: Model) => boolean,
 *   isUsed?: (model: Model) => boolean}} Tab
 */

const always = () => true;
const ofMoment = (/** @type {Model} */ model) => model.kind === "now";
const ofMap = (/** @type {Model} */ model) => model.page.map.moments.length > 0;
const ofFiles = () => byId("files") !== null;

/** @type {Tab[]} the first is open first; a new tab is a row here and its view */
export const TABS = [
  { id: "summary", text: "Summary", make: (needs) => new SummaryView(needs) },
  { id: "lines", text: "Lines", hasBar: ofMoment, make: ({ model, setKind }) => new LinesView(model, setKind) },
  { id: "flame", text: "Flame", hasBar: ofMoment, make: ({ model, setKind }) => new FlameView(model, setKind) },
  { id: "timeline", text: "Timeline", hasBar: always, make: ({ model, setWindow, setStacked }) => new TimelineView(model, setWindow, setStacked) },
  { id: "map", text: "Map", hasBar: ofMap, make: ({ model, setWindow, showLine }) => new MapView(model, setWindow, showLine) },
  { id: "tensors", text: "Tensors", hasBar: always, isUsed: (model) => model.tensors.count > 0, make: ({ model }) => new TensorsView(model) },
  { id: "growth", text: "Growth", isUsed: (model) => model.growth.isKnown, make: ({ model }) => new GrowthView(model) },
  { id: "plan", text: "Plan", isUsed: (model) => Boolean(model.page.plan), make: ({ model }) => new PlanView(model) },
  { id: "modules", text: "Modules", hasBar: always, make: ({ model, showTensors }) => new ModulesView(model, showTensors) },
  { id: "phases", text: "Phases", hasBar: always, isUsed: (model) => model.intervals.length > 0, make: ({ model, setWindow }) => new PhasesView(model, setWindow) },
  { id: "ranks", text: "Ranks", isUsed: ofFiles, make: ({ model, openFile }) => new RanksView(model, openFile) },
  { id: "oom", text: "OOM", isUsed: (model) => model.page.refused.length > 0, make: ({ model, setWindow, showMapOf }) => new OomView(model, setWindow, showMapOf) },
  { id: "differences", text: "Differences", isUsed: ofFiles, make: ({ model }) => new DifferencesView(model) },
];


/**
 * The panel of a tab; made at its first use, except the one that the page begins with.
 * @param {string} id
 */
function panelOf(id) {
  const known = byId(id);
  if (known) return known;
  const panel = make("section");
  panel.id = id;
  panel.hidden = true;
  byId("main").append(panel);
  return panel;
}

export class Views {
  /**
   * @param {Model} model
   * @param {import("./views/moment_bar.js").SetWindow} setWindow
   * @param {(kind: string) => void} setKind of KINDS
   * @param {(stacked: string) => void} setStacked of the keys of the model
   * @param {(address: string) => void} openFile shows another file of the page
   */
  constructor(model, setWindow, setKind, setStacked, openFile) {
    this.model = model;
    for (const { id } of TABS) if (id !== "summary") panelOf(id).replaceChildren();
    this.recolour();
    this.bar = new MomentBar(model, setWindow);
    const needs = { model, setWindow, setKind, setStacked, openFile, showLine: (/** @type {string} */ text) => this.showLine(text),
      showTensors: (/** @type {Record<string, string>} */ words) => this.showTensors(words),
      showMapOf: (/** @type {number} */ refused) => this.showMapOf(refused) };
    /** @type {Record<string, View>} by the ids of TABS */
    this.of = Object.fromEntries(TABS.filter((tab) => this.isUsed(tab)).map((tab) => [tab.id, tab.make(needs)]));
  }

  /** @param {Tab} tab */
  isUsed({ isUsed }) {
    return !isUsed || isUsed(this.model);
  }

  /**
   * Shows a line of the program in the tab of lines.
   * @param {string} text
   */
  showLine(text) {
    choices.words.delete("rows");
    choices.words.set("find", text);
    byId("tab-lines").click();
  }

  /**
   * Shows some of the blocks.
   * @param {Record<string, string>} words of the tab of tensors
   */
  showTensors(words) {
    for (const word of ["tensor", "category"]) {
      if (words[word]) choices.words.set(word, words[word]);
      else choices.words.delete(word);
    }
    byId("tab-tensors").click();
  }

  /** @param {number} refused number of a request */
  showMapOf(refused) {
    byId("tab-map").click();
    /** @type {MapView} */ (this.of.map).chooseRefused(refused);
  }

  /** @param {string} id of a tab */
  draw(id) {
    hideTip();
    const { hasBar } = /** @type {Tab} */ (TABS.find((tab) => tab.id === id));
    byId("scope").hidden = !hasBar || !hasBar(this.model);
    this.bar.show(this.colours);
    this.of[id].show(this.colours);
  }

  recolour() {
    this.colours = readColours(this.model.page.categories);
  }
}
