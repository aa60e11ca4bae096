// @ts-check
// The accessible twin of the flame: the frames below the one it is zoomed to, as a table.
import { make, makeButton, makePlaceText } from "../elements/dom.js";
import { formatShare } from "../elements/format.js";
import { fillRows } from "../elements/table.js";

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
      if (this.box.open) this.fillRows(flame, format);
    };
    this.show();
  }

  /**
   * @param {import("./flame.js").Flame} flame
   * @param {(amount: number) => string} format
   */
  fillRows({ tree, root, names }, format) {
    const textOf = (/** @type {number} */ node) => {
      const { function: name, file, line } = names[tree.name[node]];
      return file ? `${file}${line ? `:${line}` : ""}${name ? ` (${name})` : ""}` : name;
    };
    const kids = [];
    for (let i = root + 1; i < tree.end[root]; i = tree.end[i]) if (tree.total[i] > 0) kids.push(i);
    kids.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
    /** @type {{name: any, amount: number}[]} */
    const rows = kids.slice(0, MOST_ROWS).map((node) => {
      const name = makeButton("", () => this.zoomTo(node), "link");
      name.append(makePlaceText(textOf(node)));
      return { name, amount: tree.total[node] };
    });
    const rest = kids.slice(MOST_ROWS).reduce((sum, node) => sum + tree.total[node], 0);
    if (rest) rows.push({ name: `${kids.length - MOST_ROWS} more frames`, amount: rest });
    if (tree.self[root]) rows.push({ name: "allocated by this frame itself", amount: tree.self[root] });
    fillRows(this.table, [["Amount", "right"], ["Share", "right"], ["Frame", ""]], rows, ({ name, amount }) => {
      const cell = make("td", "right", format(amount));
      cell.dataset.amount = String(amount);
      const place = make("td", "place");
      place.append(name);
      return [cell, make("td", "right", formatShare(amount / (tree.total[0] || 1))), place];
    });
    const caption = make("caption");
    caption.append(`${kids.length} frames below `, makePlaceText(textOf(root)));
    this.table.prepend(caption);
  }
}
