// Check the draw of a match: node check_draw.mjs FILE.json... [COMMITMENT [INDEX LOW HIGH]].
//
// FILE (- for stdin) is a match of `league export`, or the GAME_OVER message as it was received;
// COMMITMENT is the `draw_commitment` that was announced before the round, for one file. Exit 1:
// something does not agree; 2: there is nothing to check, in one file at least.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const USAGE =
  "Name a match of `league export`, or a GAME_OVER message: " +
  "node check_draw.mjs published/data/matches/LEAGUE/R1M1.json";
const UNDRAWN = "no number was drawn";
const WORDS = { true: "agrees", false: "DOES NOT AGREE" };
const stop = (sentence) => {
  console.error(sentence);
  process.exit(2);
};
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const escaped = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
const spelt = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);

/** What agrees, by name; a sentence where there is nothing to compare. */
function checksOf(path) {
  const received = JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
  const message = received.params ?? received;
  const result = message.game_result ?? message.result; // as GAME_OVER or an export has it
  if (!result?.status || result.drawn_number === undefined) throw Error("no result");
  const mayLack = result.status === "TECHNICAL_LOSS" || message.game_type !== "even_odd";
  const undrawn = mayLack && result.drawn_number === null;
  const draw = message.draw;
  if (undrawn && !draw) return { number: UNDRAWN };
  if (!/^([0-9a-f]{2})+$/i.test(draw?.seed)) throw Error("no seed");
  if (!draw.moves || !result.choices) throw Error("no moves");
  const place = `${message.league_id}|${message.match_id}`;
  const key = `draw-v1|${place}|${index}|${sha256(spelt(draw.moves))}`;
  const mac = createHmac("sha256", Buffer.from(draw.seed, "hex")).update(key).digest("hex");
  const number = Number(low + (BigInt("0x" + mac) % (high - low + 1n)));
  const last = Object.fromEntries(Object.keys(result.choices).map((player) => [player, null]));
  for (const [, player, move] of draw.moves) last[player] = move;
  return {
    commitment: announced ? draw.commitment === announced : "was not given",
    seed: sha256(`commit-v1|${place}|${draw.seed}`) === draw.commitment,
    moves: spelt(last) === spelt(result.choices),
    number: undrawn ? UNDRAWN : result.drawn_number === number,
  };
}

const given = process.argv.slice(2);
const found = given.findIndex((word) => /^([0-9a-f]{64})?$/.test(word));
const cut = found < 0 ? given.length : found;
const [paths, more] = [given.slice(0, cut), given.slice(cut)];
if (!paths.length || more.length > 4) stop(USAGE);
if (paths.length > 1 && more.length) {
  stop("A commitment is that of one match; name one file with it.");
}
const [announced = "", ...rest] = more;
const numbers = ["0", "1", "10"].map((text, at) => rest[at] ?? text);
if (!numbers.every((text) => /^-?\d+$/.test(text))) {
  stop(`INDEX, LOW and HIGH are numbers, not ${numbers.join(" ")}. ${USAGE}`);
}
const [index, low, high] = numbers.map(BigInt);
if (low > high) stop(`LOW is at most HIGH, and ${low} is more than ${high}.`);
const codes = paths.map((path) => {
  let checks;
  try {
    checks = checksOf(path);
  } catch (error) {
    console.error(`${path} holds no draw that was opened (${error.message}). ${USAGE}`);
    return 2;
  }
  for (const [name, agrees] of Object.entries(checks)) {
    console.log(`${paths.length > 1 ? `${path}: ` : ""}${name}: ${WORDS[agrees] ?? agrees}`);
  }
  const said = Object.values(checks);
  return said.includes(false) ? 1 : said.includes(UNDRAWN) ? 2 : 0;
});
process.exit(codes.includes(1) ? 1 : Math.max(...codes));
