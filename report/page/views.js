// @ts-check
// The tabs and what they show of the model: they share the window and the colours.
import { byId, hideTip, readColours } from "./elements/dom.js";
import { DifferencesView } from "./views/differences_view.js";
import { FlameView } from "./views/flame_view.js";
import { LinesView } from "./views/lines_view.js";
import { MapView } from "./views/map_view.js";
import { ModulesView } from "./views/modules_view.js";
import { listenTo, MomentBar } from "./views/moment_bar.js";
import { OomView } from "./views/oom_view.js";
import { PhasesView } from "./views/phases_view.js";
import { RanksView } from "./views/ranks_view.js";
import { TABS } from "./tabs.js";
import { Timeline } from "./charts/timeline.js";
import { TimelineView } from "./views/timeline_view.js";

/**
 * A tab: it makes its elements once, and shows the moment of the model whenever that changes.
 * `search` is focused by the key "/", `zoom` is called by "+" and "-", `stepEvent` by "," and ".".
 * @typedef {{show: (colours: any) => void, search?: HTMLInputElement, zoom?: (factor: number) => void,
 *   stepEvent?: (step: number) => void}} View
 */

// Those that say nothing about the moment shown have no bar.
const WITHOUT_BAR = ["summary", "ranks", "oom", "differences"];
const WITH_KINDS = ["lines", "flame"];

class SummaryView {
  /**
   * @param {import("./data/model.js").Model} model
   * @param {import("./views/moment_bar.js").SetWindow} setWindow
   */
  constructor(model, setWindow) {
    byId("summary-time").hidden = false;
    this.line = new Timeline(byId("summary-timeline"), model, { height: 150, axis: true });
    listenTo(this.line, setWindow);
  }

  /** @param {any} colours */
  show(colours) {
    this.line.draw(colours);
  }
}

export class Views {
  /**
   * @param {import("./data/model.js").Model} model
   * @param {import("./views/moment_bar.js").SetWindow} setWindow
   * @param {(kind: string) => void} setKind of KINDS
   * @param {(stacked: string) => void} setStacked of STACKED
   */
  constructor(model, setWindow, setKind, setStacked) {
    this.model = model;
    for (const [tab] of TABS) if (tab !== "summary") byId(tab).replaceChildren();
    this.recolour();
    this.bar = new MomentBar(model, setWindow);
    /** @type {Record<string, View>} by the ids of TABS in tabs.js */
    this.of = {
      summary: new SummaryView(model, setWindow),
      lines: new LinesView(model, setKind),
      flame: new FlameView(model, setKind),
      timeline: new TimelineView(model, setWindow, setStacked),
      map: new MapView(model, setWindow, (text) => this.showLine(text)),
      modules: new ModulesView(model),
      phases: new PhasesView(model, setWindow),
      ranks: new RanksView(),
      oom: new OomView(model, setWindow, (number) => this.showMapOf(number)),
      differences: new DifferencesView(),
    };
  }

  /**
   * A line of the program in the tab of lines.
   * @param {string} text
   */
  showLine(text) {
    byId("tab-lines").click();
    /** @type {LinesView} */ (this.of.lines).find(text);
  }

  /** @param {number} number of a refused request */
  showMapOf(number) {
    byId("tab-map").click();
    /** @type {MapView} */ (this.of.map).chooseRefused(number);
  }

  /** @param {string} tab */
  draw(tab) {
    hideTip();
    const hasNoMap = tab === "map" && !this.model.page.map.moments.length;
    byId("scope").hidden = hasNoMap || WITHOUT_BAR.includes(tab) || (WITH_KINDS.includes(tab) && this.model.kind !== "now");
    this.bar.show(this.colours);
    this.of[tab].show(this.colours);
  }

  recolour() {
    this.colours = readColours(this.model.page.categories);
  }
}
