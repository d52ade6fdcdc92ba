// my_player, a player for agentleague: answers JSON-RPC 2.0 over HTTP POST.
//
//   node my_player.js                   listens; another one registers it
//   node my_player.js --manager 8000    registers itself, ends with the league

import { randomUUID } from "node:crypto";
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
const CANNOT_CALL = "The manager cannot call you back; joining through a seat.";
const NO_SEATS =
  "this league gives no seats; start it without --outbound, where the manager can call it";
const GIVE_CODE = "with --join-code or LEAGUE_JOIN_CODE; the organiser knows it";
const EVERYWHERE = { "0.0.0.0": "127.0.0.1", "::": "::1" }; // and what this machine calls instead
const USAGE = `Usage: node my_player.js [OPTIONS]

  --manager WHERE    Register there: a URL, HOST:PORT, HOST or PORT.  [LEAGUE_MANAGER]
  --join-code CODE   What the organiser told those who may register.  [LEAGUE_JOIN_CODE]
  --name TEXT        What it is called in the table.  [my_player]
  --port NUMBER      Listen there, or at the next free port.  [8101]
  --bind ADDRESS     Listen at this address of the machine; 0.0.0.0 is all of them.
  --endpoint URL     Where others call it, if not where it listens.
  --outbound         Open no port: fetch what is asked from a seat at the manager. It does so by
                     itself where the manager cannot call it, unless there is --no-outbound.
  --help             Show this.

Without a manager it listens on this machine only, and waits to be called.`;

const options = read(process.argv.slice(2), process.env);

/** The options as they were given; ends the program where one makes no sense. */
function read(args, variables) {
  const text = { type: "string" };
  const flags = { outbound: { type: "boolean" }, "no-outbound": { type: "boolean" } };
  const known = { manager: text, "join-code": text, name: text, port: text, bind: text };
  try {
    const { values } = parseArgs({
      args,
      options: { ...known, ...flags, endpoint: text, help: { type: "boolean", short: "h" } },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    const manager = managerUrl(values.manager || variables.LEAGUE_MANAGER || "");
    const last = ["--outbound", "--no-outbound"].map((flag) => args.lastIndexOf(flag));
    const outbound = last[0] === last[1] ? undefined : last[0] > last[1]; // The last one counts.
    if (outbound && !manager) throw new Error("--outbound needs a --manager.");
    return {
      outbound,
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

const heard = () => ({ status: "ACKNOWLEDGED" });

/** What is answered to each method. */
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
    return heard();
  },
  notify_game_error: ({ match_id, error_message }) => {
    console.error(`${match_id}: ${error_message}`);
    return heard();
  },
  notify_round: heard,
  update_standings: heard,
  notify_round_completed: heard,
  notify_league_completed: heard,
  notify_league_error: heard,
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

/** What is wrong with a request, as JSON-RPC says it. */
function fault(request) {
  const { jsonrpc, method, params = {} } = request ?? {};
  if (jsonrpc !== "2.0" || typeof method !== "string") {
    return { code: -32600, message: "this is no JSON-RPC 2.0 request" };
  }
  if (!Object.hasOwn(answers, method)) {
    return { code: -32601, message: `unknown method; there are: ${Object.keys(answers).join(", ")}` };
  }
  if (params === null || typeof params !== "object" || Array.isArray(params)) {
    return { code: -32602, message: "params must be an object" };
  }
}

async function answer(request) {
  const error = fault(request);
  const { id = null, method, params = {} } = request ?? {};
  if (error) return { jsonrpc: "2.0", id, error };
  const result = {
    protocol: "league.v2",
    sender: `player:${params.player_id ?? options.name}`,
    timestamp: timestamp(),
    conversation_id: params.conversation_id,
    auth_token: params.auth_token, // A strict league wants it back; others ignore it.
    ...(await answers[method](params)),
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
  const text = value === undefined ? "" : JSON.stringify(value);
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
  const said = await reply(asked);
  const isAnswered = asked?.id !== undefined || said.error; // Nobody waits for a notification.
  await send(response, isAnswered ? 200 : 202, isAnswered ? said : undefined);
  if (await ends(asked)) close();
});

/** The answer to a request; a fault costs an attempt, not the agent. */
async function reply(asked) {
  try {
    return await answer(asked);
  } catch (error) {
    console.error(error);
    const failed = { code: -32603, message: "the agent failed" };
    return { jsonrpc: "2.0", id: asked?.id ?? null, error: failed };
  }
}

async function ends(asked) {
  return asked?.method === "notify_league_completed" && isOver(asked.params?.league_id);
}

function close() {
  console.error("The league is over.");
  server.close();
  server.closeAllConnections();
}

/** Fetch calls from a seat at the manager and bring the answers along, until the league is over. */
async function sit() {
  const unreceived = new Map(); // answers, until the manager has them
  const client = randomUUID();
  let [epoch, ack, isOverNow, awayFrom] = [0, 0, false, 0];
  let poll = new AbortController(); // to bring an answer while a poll waits
  const post = async (what, said) => {
    poll = new AbortController();
    const late = setTimeout(() => poll.abort(), 30_000);
    try {
      const response = await fetch(new URL(`${registered.seat}/${what}`, options.manager), {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Authorization: `Bearer ${registered.auth_token}`,
        },
        body: JSON.stringify(said),
        signal: poll.signal,
      });
      if (response.ok) return await response.json();
      const why = await response.text();
      if (/"E01[12]"/.test(why)) stop("The manager does not know this player any more.");
      throw new Error(`HTTP ${response.status}`);
    } finally {
      clearTimeout(late);
    }
  };
  const take = async ({ id, body: text }) => {
    const asked = JSON.parse(text);
    unreceived.set(id, { id, status: 200, body: JSON.stringify(await reply(asked)) });
    isOverNow ||= await ends(asked);
    poll.abort(); // What was on its way comes again.
  };
  for (;;) {
    try {
      if (!epoch) [epoch, ack] = [(await post("open", { client })).epoch, 0];
      const answers = [...unreceived.values()].slice(0, 8);
      const wait = isOverNow || answers.length < unreceived.size ? 0 : 25;
      const said = await post("poll", { epoch, ack, wait, answers });
      if (awayFrom) console.error("The manager is back.");
      awayFrom = 0;
      if (said.state === "taken") stop("Another program has taken this seat; this one ends.");
      if (said.state === "reopen") epoch = 0;
      for (const { id } of said.receipts) unreceived.delete(id);
      const calls = said.calls.filter(({ seq }) => seq > ack);
      ack = Math.max(ack, ...calls.map(({ seq }) => seq));
      await Promise.race([Promise.all(calls.map(take)), sleep(20)]); // Most answer at once.
      if (isOverNow && !unreceived.size) return console.error("The league is over.");
    } catch (error) {
      if (error.name === "AbortError") continue;
      if (!awayFrom) console.error(`The manager does not answer (${error.cause?.code ?? error}).`);
      awayFrom = 1;
      await sleep(1000);
    }
  }
}

let registered; // what the manager answered

/** Anybody can say that the league is over: the manager is asked, for a while if it is away. */
async function isOver(named) {
  const { league_id, auth_token } = registered ?? {};
  if (!registered || ![undefined, league_id].includes(named)) return false;
  const query = { league_id, auth_token, query_type: "GET_STATUS", query_params: {} };
  const question = { message_type: "LEAGUE_QUERY", ...query };
  let said;
  for (const until = Date.now() + DOUBT_MS; Date.now() < until; await sleep(2000)) {
    const { result, error } = await ask("league_query", question).catch(() => ({}));
    if (said && result) console.error("The manager is back.");
    if (result) return result.status === "LEAGUE_COMPLETED";
    const why = error ? `does not say: ${error.data?.error_message ?? error.message}` : "is away.";
    if (why !== said) console.error(`Told that the league is over; asking the manager, which ${why}`);
    said = why;
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
async function register(endpoint, seat) {
  const player_meta = {
    display_name: options.name,
    version: "0.1.0",
    protocol_version: "2.1.0",
    game_types: GAMES,
    contact_endpoint: endpoint,
    seat, // False: it could use one.
    ...(options.joinCode ? { join_code: options.joinCode } : {}),
  };
  let [isAway, refusal] = [false]; // the first refusal, for which it asks for a seat
  for (;;) {
    try {
      const { auth_token } = registered ?? {};
      const request = { message_type: "LEAGUE_REGISTER_REQUEST", player_meta, auth_token };
      const { result, error } = await ask("register_player", request);
      if (isAway) console.error("The manager is there.");
      isAway = false;
      if (result?.status === "ACCEPTED" && (result.seat || endpoint)) {
        registered = result;
        if (result.seat && !options.outbound) console.error(CANNOT_CALL);
        console.error(`Registered as ${result.player_id}.`);
        return;
      }
      const code = result?.error_code ?? error?.data?.error_code;
      refusal ??= inWords(result, error);
      if (code !== "E043" || player_meta.seat !== false) stop(`The manager refused: ${refusal}`);
      player_meta.seat = true;
    } catch (error) {
      const why = error.cause?.code ?? error;
      const again = "trying again until it answers";
      if (!isAway) console.error(`No manager at ${options.manager} yet (${why}); ${again}.`);
      isAway = true;
      await sleep(1000);
    }
  }
}

/** A refusal for a person, in the words of the options. */
function inWords(result, error) {
  const why = [result?.reason ?? error?.message, result?.hint].filter(Boolean).join(": ");
  if (/join_code/.test(why)) {
    const [what, which] = options.joinCode
      ? ["wrong join code", "the right one"]
      : ["this league has a join code", "it"];
    return `${what}; give ${which} ${GIVE_CODE}`;
  }
  return options.outbound && (result?.status === "ACCEPTED" || /gives no seats/.test(why))
    ? NO_SEATS
    : why;
}

/** Take a seat where the manager cannot call it, or say what to try until it can. */
async function beReachable(endpoint) {
  let [unclear, isTold] = [0, false];
  while (unclear < 5 && server.listening) {
    await sleep(2000);
    const reachable = await isReachable().catch(() => undefined);
    if (reachable && isTold) console.error(`The manager can reach it at ${endpoint}.`);
    if (reachable) return;
    if (reachable === undefined) {
      unclear += 1;
    } else if (registered.seats && options.outbound !== false) {
      return register(endpoint, true);
    } else if (!isTold) {
      isTold = true;
      console.error(advice(new URL(endpoint)));
    }
  }
}

function advice(url) {
  const port = url.port || (url.protocol === "https:" ? 443 : 80);
  return (
    `The manager cannot reach it at ${url}; until it can, its matches are lost. Does the ` +
    `firewall of this machine let others in at port ${port}? Is it in the same network as the ` +
    `manager? If others see it elsewhere, say where with: --endpoint http://HOST:${port}/mcp; ` +
    "if it should listen at another address, with: --bind ADDRESS"
  );
}

/** Whether the manager can call it, as it says itself; undefined while it does not know. */
async function isReachable() {
  const query = { query_type: "GET_AGENT", query_params: { agent_id: registered.player_id } };
  const { result } = await ask("league_query", { message_type: "LEAGUE_QUERY", ...query });
  return result?.data?.agent?.reachable;
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

if (options.outbound) {
  await register("", true);
  await sit();
  process.exit(0);
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
const elsewhere = endpoint === url ? "" : `; others are to call it at ${endpoint}`;
console.error(`${options.name} listens at ${url}${elsewhere}`);
if (!/^(127\.|::1$|localhost$)/.test(bind)) {
  console.error(`It listens on ${bind}, where the whole network can reach it.`);
  if (!options.endpoint) {
    console.error(`To name another address, add: --endpoint http://ADDRESS:${port}/mcp`);
  }
}
if (options.manager) {
  await register(endpoint, options.outbound === false ? undefined : false);
  const isFar = options.endpoint || !/^(127\.|::1$)/.test(bind);
  if (isFar && !registered.seat) await beReachable(endpoint);
  if (registered.seat) {
    server.close();
    await sit();
  }
}
