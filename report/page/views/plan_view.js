// @ts-check
// The tab of plans: the cheapest layers to checkpoint under a budget that the reader drags or types,
// and the lines to paste. The sets are those of the engine.
import { PlanLine } from "../charts/plan_line.js";
import { choices } from "../data/choices.js";
import { byId, hideTip, make, showTip } from "../elements/dom.js";
import { formatBytes } from "../elements/format.js";
import { makeSaveButtons } from "../elements/save.js";
import { fillRows, makeAmount, makeBytes } from "../elements/table.js";

const GIB = 2 ** 30;

/** @typedef {import("../charts/plan_line.js").PlanPoint} PlanPoint */

export class PlanView {
  /** @type {PlanLine} */ line;

  /** @param {import("../data/model.js").Model} model */
  constructor(model) {
    this.plan = model.page.plan;
    /** @type {PlanPoint[]} */
    this.points = this.plan.points;
    /** @type {any} */
    this.colours = null;
    this.isDragged = false;
    this.build();
  }

  build() {
    const canvas = make("canvas");
    canvas.style.cursor = "ns-resize";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Peak against the cost of checkpointed layers. The field below sets the budget, the table has all sets.");
    this.line = new PlanLine(canvas, this.points);
    this.listen(canvas);
    this.input = make("input", "number");
    this.input.type = "number";
    this.input.min = "0";
    this.input.step = "any";
    this.input.onchange = () => this.choose(Number(this.input.value) * GIB);
    const label = make("label", "", "Budget in GB: ");
    label.append(this.input);
    const tools = make("div", "tools");
    tools.append(label, ...makeSaveButtons({ name: "plan", canvas, draw: () => this.draw(), colours: () => this.colours }));
    this.say = make("p", "lead wide-text");
    this.snippet = make("pre");
    this.snippet.tabIndex = 0;
    this.table = make("table", "rows");
    const free = this.plan.free_changes.length ? ` All have these changes, too, which cost nothing: ${this.plan.free_changes.join(", ")}.` : "";
    const note = make("p", "note", `Nothing was run: peaks are predicted from the recording, bytes of torch's blocks.${free} peakline plan --budget finds the best set for any budget; with --try it runs it.`);
    byId("plan").append(canvas, tools, this.say, this.snippet, this.table, note);
  }

  /** @param {HTMLCanvasElement} canvas */
  listen(canvas) {
    canvas.onpointerdown = (event) => {
      this.isDragged = true;
      canvas.setPointerCapture(event.pointerId);
      this.choose(this.line.bytesAt(event.clientY));
    };
    canvas.onpointermove = (event) => {
      if (this.isDragged) return this.choose(this.line.bytesAt(event.clientY));
      showTip(event, [{ text: formatBytes(this.line.bytesAt(event.clientY)) }]);
    };
    canvas.onpointerup = () => {
      this.isDragged = false;
    };
    canvas.onpointerleave = hideTip;
  }

  /** The budget of the address, else the middle of the peaks. */
  get budget() {
    const asked = Number(choices.get("budget", "-1"));
    return asked >= 0 ? asked : (this.points[0].bytes + this.points[this.points.length - 1].bytes) / 2;
  }

  /** @param {number} bytes */
  choose(bytes) {
    choices.set("budget", String(Math.round(bytes)));
  }

  /** The cheapest set that fits: the points come by rising cost. */
  get chosen() {
    return this.points.find((point) => point.bytes <= this.budget);
  }

  draw() {
    this.line.draw(this.colours, this.budget, this.chosen);
  }

  /** @param {any} colours */
  show(colours) {
    this.colours = colours;
    this.draw();
    if (document.activeElement !== this.input) this.input.value = (this.budget / GIB).toFixed(3);
    const { chosen } = this;
    this.saySet(chosen);
    this.fill(chosen);
  }

  /** @param {PlanPoint | undefined} chosen */
  saySet(chosen) {
    const lowest = this.points[this.points.length - 1];
    this.snippet.hidden = !chosen || chosen.layers.length === 0;
    if (!chosen) return this.say.replaceChildren("No set of layers fits: the lowest peak is ", makeAmount(lowest.bytes), ".");
    const now = this.plan.now_bytes;
    if (!chosen.layers.length) return this.say.replaceChildren("It fits without a checkpointed layer: ", makeAmount(chosen.bytes), ".");
    this.say.replaceChildren(`Checkpoint ${chosen.layers.length} of ${this.plan.layer_count} layers: about `, makeAmount(chosen.bytes), " instead of ", makeAmount(now), `. ${costText(chosen)}`);
    const names = `[${chosen.layers.map((layer) => `'${layer}'`).join(", ")}]`;
    this.snippet.textContent = this.plan.snippet.replace("{names}", () => names);
  }

  /** @param {PlanPoint | undefined} chosen */
  fill(chosen) {
    /** @type {any[][]} */
    const heads = [["Peak", "right", (/** @type {PlanPoint} */ point) => point.bytes], ["FLOPs", "right"], ["Layers", "right"], ["Checkpointed", ""]];
    fillRows(this.table, heads, this.points, (/** @type {PlanPoint} */ point) => {
      const names = make("td", "", point.layers.join(", "));
      if (point === chosen) names.prepend(make("strong", "", "chosen: "));
      return [makeBytes(point.bytes), make("td", "right", point.cost === null ? "" : `+${(point.cost * 100).toFixed(1)} %`),
        make("td", "right", String(point.layers.length)), names];
    });
  }
}

/** @param {PlanPoint} point */
function costText(point) {
  return point.cost === null ? "" : `A step makes ${(point.cost * 100).toFixed(1)} % of its FLOPs again.`;
}
