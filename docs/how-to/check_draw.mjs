// Check the draw of one match: node check_draw.mjs FILE.json [COMMITMENT [INDEX LOW HIGH]].
//
// FILE (- for stdin) is a match of `league export`, or the GAME_OVER message as it was received;
// COMMITMENT is the `draw_commitment` that was announced before the round. Exit 1: something does
// not agree; 2: there is nothing to check.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const USAGE =
  "Name a match of `league export`, or a GAME_OVER message: " +
  "node check_draw.mjs published/data/matches/LEAGUE/R1M1.json";
const stop = (sentence) => {
  console.error(sentence);
  process.exit(2);
};
const [path = "", announced = "", index = 0, low = 1, high = 10] = process.argv.slice(2);
const read = () => {
  try {
    const received = JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
    const message = received.params ?? received;
    const result = message.game_result ?? message.result; // as GAME_OVER or an export has it
    if (!message.draw?.seed || !message.draw.moves || !result?.choices) throw Error("no draw");
    return { message, draw: message.draw, result };
  } catch (error) {
    return stop(`${path} holds no draw that was opened (${error.message}). ${USAGE}`);
  }
};
if (!path) stop(USAGE);
const { message, draw, result } = read();
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const escaped = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
const spelt = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
const place = `${message.league_id}|${message.match_id}`;
const key = `draw-v1|${place}|${index}|${sha256(spelt(draw.moves))}`;
const mac = createHmac("sha256", Buffer.from(draw.seed, "hex")).update(key).digest("hex");
const number = Number(BigInt(low) + (BigInt("0x" + mac) % (BigInt(high) - BigInt(low) + 1n)));
const undrawn = result.status === "TECHNICAL_LOSS" || message.game_type !== "even_odd";
const last = Object.fromEntries(Object.keys(result.choices).map((player) => [player, null]));
for (const [, player, move] of draw.moves) last[player] = move;
const checks = {
  commitment: announced ? draw.commitment === announced : "was not given",
  seed: sha256(`commit-v1|${place}|${draw.seed}`) === draw.commitment,
  moves: spelt(last) === spelt(result.choices),
  number: (undrawn ? [null, number] : [number]).includes(result.drawn_number),
};
const words = { true: "agrees", false: "DOES NOT AGREE" };
for (const [name, agrees] of Object.entries(checks)) console.log(`${name}: ${words[agrees] ?? agrees}`);
process.exit(Object.values(checks).includes(false) ? 1 : 0);
