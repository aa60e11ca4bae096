// @ts-check
// The tab of the summary: static HTML, to which this adds the chart, and the ways to the other tabs.
import { Timeline } from "../charts/timeline.js";
import { byId, make, makeButton } from "../elements/dom.js";
import { makeSaveButtons } from "../elements/save.js";
import { fillLegend } from "../elements/table.js";
import { listenTo, makeAxisChoice, sayMoment } from "./moment_bar.js";

export class SummaryView {
  /** @param {import("../views.js").Needs} needs */
  constructor({ model, setWindow, showLine, showTensors }) {
    this.model = model;
    this.setWindow = setWindow;
    /** @type {any} */
    this.colours = null;
    const canvas = byId("summary-timeline");
    byId("summary-time").hidden = false;
    this.line = new Timeline(canvas, model, { height: 150, axis: true });
    listenTo(this.line, setWindow);
    this.legend = make("ul");
    this.say = make("p", "say");
    this.axis = makeAxisChoice();
    const tools = make("div", "tools below");
    tools.append(this.axis, ...makeSaveButtons({ name: "memory", canvas, draw: () => this.line.draw(this.colours), colours: () => this.colours, legend: this.legend }));
    byId("summary-more").replaceChildren(this.say, this.legend, tools);
    leadOn("[data-line]", "line", (line) => {
      setWindow(null);
      showLine(model.page.lines[Number(line)].key);
    });
    leadOn("[data-category]", "category", (category) => {
      setWindow(null);
      showTensors({ category });
    });
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    if (!this.line.canvas.clientWidth) return;  // the tab is hidden
    this.line.draw(colours);
    this.axis.refresh();
    const { model } = this;
    this.say.replaceChildren(...(model.window ? sayMoment(model, this.setWindow) : ["A click or a drag in the chart shows another moment on all tabs."]));
    fillLegend(this.legend, model.categories(), model.page.categories, this.line.drawnCategories());
  }
}

/**
 * Makes the text of elements a button.
 * @param {string} selector
 * @param {string} word of its data
 * @param {(value: string) => void} go
 */
function leadOn(selector, word, go) {
  for (const one of document.querySelectorAll("#summary " + selector)) {
    const element = /** @type {HTMLElement} */ (one);
    let button = /** @type {any} */ (element.querySelector("button.lead-on"));
    if (!button) {
      button = makeButton("", () => {}, "link lead-on");
      button.append(...element.childNodes);
      element.append(button);
    }
    button.onclick = () => go(element.dataset[word] || "");
  }
}
