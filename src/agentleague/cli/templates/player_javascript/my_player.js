// my_player, a player for agentleague: answers JSON-RPC 2.0 over HTTP POST.
//
//   node my_player.js                   listens; another one registers it
//   node my_player.js --manager 8000    registers itself, ends with the league

import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { choose } from "./choose.js";

const GAMES = ["even_odd", "rock_paper_scissors", "tic_tac_toe"];
const BODY_MAX = 65_536; // bytes
const PORTS_TRIED = 1000;
const DOUBT_MS = 40_000; // a manager that is away may just be starting again
const EVERYWHERE = { "0.0.0.0": "127.0.0.1", "::": "::1" }; // and what this machine calls instead
const USAGE = `Usage: node my_player.js [OPTIONS]

  --manager WHERE    Register there: a URL, HOST:PORT, HOST or PORT.  [LEAGUE_MANAGER]
  --join-code CODE   What the organiser told those who may register.  [LEAGUE_JOIN_CODE]
  --name TEXT        What it is called in the table.  [my_player]
  --port NUMBER      Listen there, or at the next free port.  [8101]
  --bind ADDRESS     Listen at this address of the machine; 0.0.0.0 is all of them.
  --endpoint URL     Where others call it, if not where it listens.
  --help             Show this.

Without a manager it listens on this machine only, and waits to be called.`;

const options = read(process.argv.slice(2), process.env);

/** The options as they were given; ends the program where one makes no sense. */
function read(args, variables) {
  const text = { type: "string" };
  const known = { manager: text, "join-code": text, name: text, port: text, bind: text };
  try {
    const { values } = parseArgs({
      args,
      options: { ...known, endpoint: text, help: { type: "boolean", short: "h" } },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const manager = managerUrl(values.manager || variables.LEAGUE_MANAGER || "");
    return {
      manager: manager && checked("--manager", manager),
      joinCode: values["join-code"] || variables.LEAGUE_JOIN_CODE,
      name: values.name || "my_player",
      port: portOf(values.port ?? "8101"),
      bind: (values.bind ?? "").replace(/^\[|\]$/g, ""),
      endpoint: values.endpoint && checked("--endpoint", values.endpoint),
    };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** A manager's URL from what a person types: a port, a host, both, or a URL. */
function managerUrl(typed) {
  let text = typed;
  if (/^\d+$/.test(text)) text = `127.0.0.1:${text}`;
  else if (/^([\w.-]+|\[[\da-fA-F:.]+\])$/.test(text)) text = `${text}:8000`;
  if (/^[^/]+:\d+(\/.*)?$/.test(text)) text = `http://${text}`;
  return /:\/\/[^/]+$/.test(text) ? `${text}/mcp` : text;
}

function checked(option, url) {
  try {
    if (/^https?:$/.test(new URL(url).protocol)) return url;
  } catch {
    // Said below.
  }
  throw new Error(`${option}: '${url}' is no URL like http://192.168.1.10:8000/mcp.`);
}

function portOf(text) {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new Error(`--port: '${text}' is no port; take a number up to 65535.`);
  }
  return Number(text);
}

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
    auth_token: params.auth_token, // A strict league wants it back; others ignore it.
    ...(await handler(params)),
  };
  return { jsonrpc: "2.0", id, result };
}

function timestamp() {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
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
  if (asked?.method === "notify_league_completed" && (await isOver(asked.params?.league_id))) {
    console.error("The league is over.");
    server.close();
    server.closeAllConnections();
  }
});

let registered; // what the manager answered

/** Anybody can say that the league is over: the manager is asked, for a while if it is away. */
async function isOver(named) {
  const { league_id, auth_token } = registered ?? {};
  if (!registered || ![undefined, league_id].includes(named)) return false;
  const query = { league_id, auth_token, query_type: "GET_STATUS", query_params: {} };
  const question = { message_type: "LEAGUE_QUERY", ...query };
  for (const until = Date.now() + DOUBT_MS; Date.now() < until; await sleep(2000)) {
    const { result, error } = await ask("league_query", question).catch(() => ({}));
    if (result) return result.status === "LEAGUE_COMPLETED";
    const why = error ? `does not say: ${error.data?.error_message ?? error.message}` : "is away.";
    console.error(`Told that the league is over; asking the manager, which ${why}`);
  }
  return true;
}

/** What the manager answers. */
async function ask(method, body) {
  const params = {
    protocol: "league.v2",
    sender: `player:${registered?.player_id ?? options.name}`,
    timestamp: timestamp(),
    conversation_id: `conv-${method}`,
    ...body,
  };
  const response = await fetch(options.manager, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(10_000),
  });
  return response.json();
}

/** Register; ask again until the manager is there. */
async function register(endpoint) {
  const player_meta = {
    display_name: options.name,
    version: "0.1.0",
    protocol_version: "2.1.0",
    game_types: GAMES,
    contact_endpoint: endpoint,
    ...(options.joinCode ? { join_code: options.joinCode } : {}),
  };
  for (;;) {
    try {
      return await ask("register_player", { message_type: "LEAGUE_REGISTER_REQUEST", player_meta });
    } catch (error) {
      console.error(`No manager at ${options.manager} yet (${error.cause?.code ?? error}).`);
      await sleep(1000);
    }
  }
}

/** The address of this machine from which it reaches its manager; nothing is sent there. */
async function ownAddress() {
  const host = new URL(options.manager || "http://localhost").hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost") return "127.0.0.1";
  const { address, family } = await lookup(host);
  const way = createSocket(family === 6 ? "udp6" : "udp4");
  try {
    way.connect(9, address);
    await once(way, "connect");
    return way.address().address;
  } finally {
    way.close();
  }
}

/** Listen at an address, at the first port that is free; which one that is. */
async function listen(host) {
  // Where --endpoint names a port, another one would not be found.
  const last = options.endpoint ? options.port : Math.min(options.port + PORTS_TRIED - 1, 65_535);
  for (let port = options.port; ; port += 1) {
    try {
      server.listen(port, host);
      await once(server, "listening");
      return server.address().port;
    } catch (error) {
      if (error.code !== "EADDRINUSE" || port === last) throw error;
    }
  }
}

function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}

const own = await ownAddress().catch((error) => {
  if (options.bind && (options.endpoint || !(options.bind in EVERYWHERE))) return options.bind;
  return stop(
    `No way leads from here to ${options.manager} (${error.message}). If the address is right, ` +
      "say where others reach this machine: --bind 0.0.0.0 --endpoint http://ADDRESS:PORT/mcp",
  );
});
const bind = options.bind || own;
const port = await listen(bind).catch((error) =>
  stop(`Cannot listen (${error.message}). Try another --port, or another --bind.`),
);
const called = bind in EVERYWHERE ? own : bind;
const url = `http://${called.includes(":") ? `[${called}]` : called}:${port}/mcp`;
const endpoint = options.endpoint || url;
console.error(`${options.name} listens at ${endpoint}`);
if (!/^(127\.|::1$|localhost$)/.test(bind)) {
  console.error(`It listens on ${bind}, where the whole network can reach it.`);
  if (!options.endpoint) {
    console.error(`To name another address, add: --endpoint http://ADDRESS:${port}/mcp`);
  }
}
if (options.manager) {
  const { result, error } = await register(endpoint);
  if (result?.status !== "ACCEPTED") {
    stop(`The manager refused: ${result?.reason ?? error?.message}`);
  }
  registered = result;
  console.error(`Registered as ${result.player_id}.`);
}
