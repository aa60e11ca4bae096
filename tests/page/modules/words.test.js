// Columns from their bytes; the words of an address; names with their layers as one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { choices } from "../data/choices.js";
import { readColumns } from "../data/columns.js";
import { medianOf } from "../data/median.js";
import { layersOf } from "../data/model.js";

/** All lowest bytes first, as page_columns.h has it. */
function planesOf(numbers, width) {
  return Array.from({ length: width }, (_, plane) => numbers.map((one) => Math.floor(one / 256 ** plane) % 256)).flat();
}

const zigzag = (number) => (number < 0 ? -2 * number - 1 : 2 * number);

test("columns are read in every coding, up to seven bytes wide", () => {
  const plain = [0, 1, 255, 256, 2 ** 52 + 1];
  const signed = [0, -1, 1, -300, 70000];
  const rising = [5, 3, 900, 900, 2 ** 33];
  const deltas = rising.map((one, i) => zigzag(one - (i ? rising[i - 1] : 0)));
  const list = [{ name: "a", coding: "plain", width: 7, count: 5 }, { name: "none", coding: "delta", width: 1, count: 0 },
    { name: "b", coding: "signed", width: 3, count: 5 }, { name: "c", coding: "delta", width: 5, count: 5 }];
  const bytes = Uint8Array.from([...planesOf(plain, 7), ...planesOf(signed.map(zigzag), 3), ...planesOf(deltas, 5)]);
  const said = readColumns(list, bytes);
  assert.deepEqual([...said.a], plain);
  assert.deepEqual([...said.none], []);
  assert.deepEqual([...said.b], signed);
  assert.deepEqual([...said.c], rising);
});

test("an address keeps any text, and leaves out the first choice", () => {
  const text = "a=b&c%d=ü, <b>";
  choices.read("");
  choices.set("find", text);
  choices.set("lines", "line", "line");
  choices.set("tab", "flame");
  const address = choices.text(["tab"]);
  assert.ok(address.startsWith("tab=flame&find="));
  choices.read(address);
  assert.equal(choices.get("find"), text);
  assert.equal(choices.get("lines", "otherwise"), "otherwise");
  choices.read("find=%E0%A4%A&novalue&=x");
  assert.equal(choices.get("find"), "%E0%A4%A");
});

test("repeated layers have one name", () => {
  assert.equal(layersOf("model.h.0.mlp.12.act"), "model.h.*.mlp.*.act");
  assert.equal(layersOf("layer3.conv1.2"), "layer3.conv1.*");
  assert.equal(layersOf("v1.5x.10"), "v1.5x.*");
});

test("a median of an even count is rounded down", () => {
  assert.equal(medianOf([]), 0);
  assert.equal(medianOf([9, 1, 5]), 5);
  assert.equal(medianOf([8, 1, 2, 7]), 4);
});
