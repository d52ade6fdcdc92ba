"""What `league new player NAME --language javascript` writes: an agent of node's own library."""

PACKAGE = """\
{
  "name": "NAME",
  "version": "0.1.0",
  "description": "A player for agentleague.",
  "private": true,
  "type": "module",
  "engines": { "node": ">=18.3" },
  "scripts": {
    "start": "node NAME.js",
    "test": "node --test"
  }
}
"""

CHOOSE = """\
// The moves of NAME. This is the file to change.

/**
 * Make a move: one of legalMoves, which is empty in a game that lists none.
 *
 * `call` is the message that asks for it: `game_type` says which game it is, `position` what there
 * is to see, `context.your_standings` how well it went so far, `deadline` until when. It may be
 * async.
 */
export function choose(legalMoves, call) {
  return legalMoves[Math.floor(Math.random() * legalMoves.length)];
}
"""

AGENT = """\
// NAME, a player for agentleague: answers JSON-RPC 2.0 over HTTP POST.
//
//   node NAME.js                                        listens; another one registers it
//   node NAME.js --manager http://127.0.0.1:8000/mcp    registers itself, ends with the league

import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { choose } from "./choose.js";

const GAMES = ["even_odd", "rock_paper_scissors", "tic_tac_toe"];
const BODY_MAX = 65_536; // bytes

const { values: options } = parseArgs({
  options: {
    manager: { type: "string" },
    port: { type: "string", default: "8101" },
    name: { type: "string", default: "NAME" },
  },
});

/** What is answered to each method; to any other one, that it was heard. */
const answers = {
  handle_game_invitation: ({ match_id, player_id }) => ({
    message_type: "GAME_JOIN_ACK",
    match_id,
    player_id,
    arrival_timestamp: timestamp(),
    accept: true,
  }),
  parity_choose: async (call) => ({
    message_type: "CHOOSE_PARITY_RESPONSE",
    match_id: call.match_id,
    player_id: call.player_id,
    parity_choice: await move(["even", "odd"], call),
  }),
  choose_move: async (call) => ({
    message_type: "GAME_MOVE_RESPONSE",
    match_id: call.match_id,
    player_id: call.player_id,
    move: await move(call.legal_moves ?? [], call),
  }),
  notify_match_result: ({ match_id, player_id, game_result }) => {
    const { winner_player_id: winner, reason } = game_result;
    const ended = winner === player_id ? "won" : winner ? "lost" : "nobody won";
    console.error(`${match_id}: ${ended}. ${reason}`);
    return { status: "ACKNOWLEDGED" };
  },
  notify_game_error: ({ match_id, error_message }) => {
    console.error(`${match_id}: ${error_message}`);
    return { status: "ACKNOWLEDGED" };
  },
};

// No move is no legal move: the referee says so and asks again at once.
async function move(legalMoves, call) {
  try {
    return (await choose(legalMoves, call)) ?? null;
  } catch (error) {
    console.error(error);
    return null;
  }
}

async function answer(request) {
  const { id, method, params = {} } = request;
  const handler = answers[method] ?? (() => ({ status: "ACKNOWLEDGED" }));
  const result = {
    protocol: "league.v2",
    sender: `player:${params.player_id ?? options.name}`,
    timestamp: timestamp(),
    conversation_id: params.conversation_id,
    ...(await handler(params)),
  };
  return { jsonrpc: "2.0", id, result };
}

function timestamp() {
  return new Date().toISOString().replace(/\\.\\d+Z$/, "Z");
}

async function body(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > BODY_MAX) throw new RangeError(`more than ${BODY_MAX} bytes`);
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}

function send(response, status, value) {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
  });
  return new Promise((sent) => response.end(text, sent));
}

const server = createServer(async (request, response) => {
  if (request.method !== "POST") {
    await send(response, 405, { error: "POST JSON-RPC here" });
    return;
  }
  let asked;
  try {
    asked = await body(request);
  } catch (error) {
    const message = `no JSON: ${error.message}`;
    await send(response, 400, { jsonrpc: "2.0", id: null, error: { code: -32700, message } });
    return;
  }
  try {
    await send(response, 200, await answer(asked));
  } catch (error) {
    console.error(error); // It costs an attempt, not the agent.
    const fault = { code: -32603, message: "the agent failed" };
    await send(response, 200, { jsonrpc: "2.0", id: asked?.id ?? null, error: fault });
  }
  if (asked?.method === "notify_league_completed" && options.manager) {
    console.error("The league is over.");
    server.close();
    server.closeAllConnections();
  }
});

/** Register; ask again until the manager is there. */
async function register(endpoint) {
  const player_meta = {
    display_name: options.name,
    version: "0.1.0",
    protocol_version: "2.1.0",
    game_types: GAMES,
    contact_endpoint: endpoint,
  };
  const params = {
    protocol: "league.v2",
    message_type: "LEAGUE_REGISTER_REQUEST",
    sender: `player:${options.name}`,
    timestamp: timestamp(),
    conversation_id: "conv-register",
    player_meta,
  };
  const request = { jsonrpc: "2.0", id: 1, method: "register_player", params };
  for (;;) {
    try {
      const response = await fetch(options.manager, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(request),
      });
      return await response.json();
    } catch (error) {
      console.error(`No manager at ${options.manager} yet (${error.cause?.code ?? error}).`);
      await sleep(1000);
    }
  }
}

server.on("error", (error) => {
  console.error(`Port ${options.port}: ${error.message}. Take another one with --port.`);
  process.exit(1);
});

server.listen(Number(options.port), "127.0.0.1", async () => {
  const endpoint = `http://127.0.0.1:${server.address().port}/mcp`;
  console.error(`${options.name} listens at ${endpoint}`);
  if (!options.manager) return;
  const { result, error } = await register(endpoint);
  if (result?.status !== "ACCEPTED") {
    console.error(`The manager refused: ${result?.reason ?? error?.message}`);
    process.exit(1);
  }
  console.error(`Registered as ${result.player_id}.`);
});
"""

TEST = """\
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
"""

README = """\
# NAME

A player for agentleague, in JavaScript, with nothing but node (18.3 or later). `choose` in
`choose.js` makes its moves: change it. `NAME.js` does the talking.

In this folder, in one terminal:

    node NAME.js --port 8101

and in another one:

    league play http://127.0.0.1:8101/mcp random                    # one match, told line by line
    league play http://127.0.0.1:8101/mcp random --matches 20       # and who is better
    league play http://127.0.0.1:8101/mcp fixed --game tic_tac_toe  # in another game
    league demo --player http://127.0.0.1:8101/mcp --players 8      # in a whole league
    node --test                                                     # choose.test.js

In a league that somebody else runs:

    node NAME.js --manager http://127.0.0.1:8000/mcp
"""

FILES = {
    "package.json": PACKAGE,
    "choose.js": CHOOSE,
    "NAME.js": AGENT,
    "choose.test.js": TEST,
    "README.md": README,
}
