// @ts-check
// The accessible twin of the flame: the frames below the one it is zoomed to, as a table.
import { make, makeButton, makePlaceText } from "../elements/dom.js";
import { formatShare } from "../elements/format.js";

const MOST_ROWS = 200;

export class FlameTable {
  /** @param {(node: number) => void} zoomTo */
  constructor(zoomTo) {
    this.zoomTo = zoomTo;
    this.box = make("details");
    this.title = make("summary", "more", "The same as a table");
    this.table = make("table", "rows");
    this.box.append(this.title, this.table);
    this.show = () => {};
    this.box.ontoggle = () => this.show();
  }

  /**
   * @param {import("./flame.js").Flame} flame
   * @param {(amount: number) => string} format
   */
  fill(flame, format) {
    this.show = () => {
      if (this.box.open) this.table.replaceChildren(...this.makeParts(flame, format));
    };
    this.show();
  }

  /**
   * @param {import("./flame.js").Flame} flame
   * @param {(amount: number) => string} format
   */
  makeParts({ tree, root, names }, format) {
    const textOf = (/** @type {number} */ node) => {
      const { function: name, file, line } = names[tree.name[node]];
      return file ? `${file}${line ? `:${line}` : ""}${name ? ` (${name})` : ""}` : name;
    };
    const heads = make("tr");
    for (const [text, kind] of [["Amount", "right"], ["Share", "right"], ["Frame", ""]]) {
      const head = make("th", kind, text);
      head.scope = "col";
      heads.append(head);
    }
    const body = make("tbody");
    const add = (/** @type {number} */ node, /** @type {number} */ amount, /** @type {any} */ name) => {
      const row = make("tr");
      const place = make("td", "place");
      place.append(name);
      const cell = make("td", "right", format(amount));
      cell.dataset.amount = String(amount);
      row.append(cell, make("td", "right", formatShare(amount / (tree.total[0] || 1))), place);
      body.append(row);
    };
    const kids = [];
    for (let i = root + 1; i < tree.end[root]; i = tree.end[i]) if (tree.total[i] > 0) kids.push(i);
    kids.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
    for (const node of kids.slice(0, MOST_ROWS)) {
      const button = makeButton("", () => this.zoomTo(node), "link");
      button.append(makePlaceText(textOf(node)));
      add(node, tree.total[node], button);
    }
    const rest = kids.slice(MOST_ROWS).reduce((sum, node) => sum + tree.total[node], 0);
    if (rest) add(root, rest, `${kids.length - MOST_ROWS} more frames`);
    if (tree.self[root]) add(root, tree.self[root], "allocated by this frame itself");
    const caption = make("caption");
    caption.append(`${kids.length} frames below `, makePlaceText(textOf(root)));
    const head = make("thead");
    head.append(heads);
    return [caption, head, body];
  }
}
