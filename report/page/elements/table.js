// @ts-check
// Tables of rows: memory, share by category, blocks, name. Long ones grow by a button.
import { classOf, make, makeButton, shortName } from "./dom.js";
import { formatBytes, formatCount, formatShare } from "./format.js";

const ROWS_AT_FIRST = 100;

/**
 * A bar split by category.
 * @param {ArrayLike<number>} levels
 * @param {number} most
 * @param {string[]} categories
 */
export function makeMix(levels, most, categories) {
  const bar = make("div", "mix");
  let sum = 0;
  [...Array.from(levels).keys()].sort((a, b) => levels[b] - levels[a]).forEach((i) => {
    if (levels[i] <= 0) return;
    const part = make("span", classOf(categories[i]));
    part.style.flexGrow = String(levels[i]);
    part.title = categories[i];
    bar.append(part);
    sum += levels[i];
  });
  bar.style.width = Math.min(100, (sum / Math.max(1, most)) * 100) + "%";
  return bar;
}

/**
 * A location: file and line, then the function, muted.
 * @param {string} key
 */
export function makePlace(key) {
  const cell = make("td", "place");
  const shown = shortName(key);
  const found = /^(.*) (\([^()]*\))$/s.exec(shown);
  const name = make("bdi", "", found ? found[1] : shown);
  cell.append(name);
  if (found) cell.append(" ", make("span", "", found[2]));
  return cell;
}

/**
 * @param {HTMLElement} table @param {import("../data/model.js").Row[]} rows
 * @param {{total: number, categories: string[], name: string, more?: (row: import("../data/model.js").Row) => HTMLElement | null}} look
 */
export function fillTable(table, rows, look) {
  const most = rows.length ? rows[0].bytes : 1;
  table.className = "rows";
  /** @type {any[][]} */
  const heads = [["Memory", "right", (/** @type {any} */ row) => row.bytes], ["Share", "share"], ["of all", "right"],
    ["Blocks", "right wide", (/** @type {any} */ row) => row.count], [look.name, "", (/** @type {any} */ row) => row.key]];
  fillRows(table, heads, rows, (row) => {
    const share = make("td", "share");
    share.append(makeMix(row.categories, most, look.categories));
    const place = makePlace(row.key);
    const more = look.more && look.more(row);
    if (more) place.append(more);
    return [makeBytes(row.bytes), share, make("td", "right", formatShare(row.bytes / look.total)), make("td", "right wide", formatCount(row.count)), place];
  });
}

/**
 * Fills a table of any rows: the first ones now, more by its last row. A head with a value sorts by
 * it; the choice stays with the table.
 * @template T
 * @param {any} table
 * @param {(string | ((row: T) => number | string))[][]} heads text, class and, if rows can be sorted by it, value of each column
 * @param {T[]} rows
 * @param {(row: T, line: HTMLElement) => HTMLElement[]} makeCells of the row `line`
 */
export function fillRows(table, heads, rows, makeCells) {
  const body = make("tbody");
  const order = table.order;
  const shown = order ? sortRows(rows, /** @type {any} */ (heads[order.column][2]), order.rises) : rows;
  const add = (/** @type {number} */ from, /** @type {number} */ to) => {
    for (const row of shown.slice(from, to)) {
      const line = make("tr");
      line.append(...makeCells(row, line));
      body.append(line);
    }
  };
  add(0, ROWS_AT_FIRST);
  const sort = (/** @type {number} */ column) => {
    const isNumber = rows.length > 0 && typeof /** @type {any} */ (heads[column][2])(rows[0]) === "number";
    const rises = order?.column === column ? !order.rises : !isNumber;
    table.order = { column, rises };
    fillRows(table, heads, rows, makeCells);
    table.querySelectorAll("th")[[...heads.keys()].filter((i) => heads[i][0]).indexOf(column)].firstChild.focus();
  };
  table.replaceChildren(makeHead(/** @type {any} */ (heads), order, sort), body);
  if (rows.length > ROWS_AT_FIRST) table.append(makeGrower(rows.length, heads.length, add));
}

/**
 * @template T
 * @param {T[]} rows
 * @param {(row: T) => number | string} valueOf
 * @param {boolean} rises
 */
function sortRows(rows, valueOf, rises) {
  const values = new Map(rows.map((row) => [row, valueOf(row)]));
  const sign = rises ? 1 : -1;
  return rows.slice().sort((a, b) => {
    const [first, second] = [/** @type {any} */ (values.get(a)), /** @type {any} */ (values.get(b))];
    return first === second ? 0 : first < second ? -sign : sign;
  });
}

/**
 * A cell of bytes, exact in its title.
 * @param {number} bytes
 * @param {string} [kind] the class
 */
export function makeBytes(bytes, kind = "right") {
  const cell = make("td", kind, formatBytes(bytes));
  cell.title = formatCount(bytes) + " bytes";
  return cell;
}

/**
 * @param {any[][]} columns as in fillRows
 * @param {{column: number, rises: boolean} | undefined} order
 * @param {(column: number) => void} sort
 */
function makeHead(columns, order, sort) {
  const head = make("thead");
  const heads = make("tr");
  columns.forEach(([text, kind, value], column) => {
    const cell = make(text ? "th" : "td", kind, value ? "" : text);
    if (text) cell.scope = "col";
    if (value) {
      const isChosen = order?.column === column;
      cell.append(makeButton(text, () => sort(column), "head"));
      if (isChosen) cell.setAttribute("aria-sort", order?.rises ? "ascending" : "descending");
    }
    heads.append(cell);
  });
  head.append(heads);
  return head;
}

/**
 * The last row of a long table: it adds more.
 * @param {number} count
 * @param {number} width columns
 * @param {(from: number, to: number) => void} addRows
 */
function makeGrower(count, width, addRows) {
  const foot = make("tfoot");
  const line = make("tr");
  const cell = make("td");
  cell.colSpan = width;
  let shown = ROWS_AT_FIRST;
  const textOf = () => `${formatCount(count - shown)} more rows`;
  const button = makeButton(textOf(), () => {
    addRows(shown, shown + 1000);
    shown = Math.min(count, shown + 1000);
    button.textContent = textOf();
    foot.hidden = shown === count;
  }, "link");
  cell.append(button);
  line.append(cell);
  foot.append(line);
  return foot;
}

/**
 * Categories with their colours, largest first.
 * @param {HTMLElement} list
 * @param {number[]} levels
 * @param {string[]} categories
 * @param {Set<number>} [drawn] categories that a chart shows, though they hold nothing at this moment
 */
export function fillLegend(list, levels, categories, drawn) {
  const total = levels.reduce((sum, one) => sum + one, 0);
  list.className = "legend";
  list.replaceChildren(...[...levels.keys()].filter((i) => levels[i] > 0 || drawn?.has(i)).sort((a, b) => levels[b] - levels[a]).map((i) => {
    return makeLegendItem(classOf(categories[i]), categories[i], levels[i], levels[i] / (total || 1));
  }));
}

/**
 * @param {string} kind the class of its colour
 * @param {string} name
 * @param {number} bytes
 * @param {number} [share]
 */
export function makeLegendItem(kind, name, bytes, share) {
  const item = make("li");
  item.dataset.bytes = String(bytes);
  item.append(make("i", kind), make("bdi", "", shortName(name)), " ", make("b", "", formatBytes(bytes)),
    share === undefined ? "" : " " + formatShare(share));
  return item;
}

/**
 * A bar of parts, and its legend; a negative part is in the legend only.
 * @param {{name: string, kind: string, bytes: number}[]} parts
 * @param {number} whole bytes
 */
export function makeParts(parts, whole) {
  const bar = make("div", "mix tall");
  const legend = make("ul", "legend");
  for (const { name, kind, bytes } of parts) {
    if (bytes) legend.append(makeLegendItem(kind, name, bytes, bytes / whole));
    if (bytes <= 0) continue;
    const box = make("span", kind);
    box.style.flexGrow = String(bytes);
    box.title = name;
    bar.append(box);
  }
  return [bar, legend];
}

/**
 * @param {number} number
 * @param {(number: number) => string} format of a number that is not negative
 */
export function signed(number, format) {
  return (number > 0 ? "+" : number < 0 ? "\u2212" : "") + format(Math.abs(number));
}

/**
 * Two cells of a difference: the figure, and a bar from the middle, to the right if it is more.
 * @param {number} delta bytes
 * @param {number} most of all rows
 */
export function makeDelta(delta, most) {
  const kind = delta > 0 ? "more" : "less";
  const change = make("td", "right");
  change.append(make("b", "is-" + kind, signed(delta, formatBytes)));
  change.title = signed(delta, formatCount) + " bytes";
  const share = make("td", "share");
  const swing = make("div", "swing");
  const bar = make("span", kind);
  const width = (50 * Math.abs(delta)) / most;
  bar.style.width = width + "%";
  bar.style.left = (delta > 0 ? 50 : 50 - width) + "%";
  swing.append(bar);
  share.append(swing);
  return [change, share];
}

/**
 * An amount in a sentence.
 * @param {number} bytes
 */
export function makeAmount(bytes) {
  const amount = make("b", "", formatBytes(bytes));
  amount.title = formatCount(bytes) + " bytes";
  amount.dataset.bytes = String(bytes);
  return amount;
}
