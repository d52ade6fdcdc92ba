// Run with: node --test

import assert from "node:assert/strict";
import { test } from "node:test";
import { choose } from "./choose.js";

test("it makes a legal move", () => {
  const legal = ["even", "odd"];

  for (let time = 0; time < 100; time += 1) {
    assert.ok(legal.includes(choose(legal, { game_type: "even_odd" })));
  }
});
