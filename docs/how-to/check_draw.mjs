// Check the draw of one match: node check_draw.mjs GAME_OVER.json [COMMITMENT [INDEX LOW HIGH]].
//
// The file (- or none: stdin) holds the GAME_OVER message as it was received; COMMITMENT is the
// `draw_commitment` that was announced before the round. Exit 1: something does not agree.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const [path = "-", announced = "", index = 0, low = 1, high = 10] = process.argv.slice(2);
const received = JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
const message = received.params ?? received;
const { draw, game_result: result } = message;
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
