"""Composes agents that nobody listed, by seed, of independent traits; finds why one fails.

Left out is what a document refuses by name: `EVEN` for `even` (E004, document 004 section 6.2.3),
and times that are not UTC (E021, document 000 section 2.4.2). Left out, too, is what no league
could know: a method or a nesting that is not usual, that no tool list shows, and in which the agent
does not register.
"""

from random import Random

from foreign.http_agent import traits_of

AGENT = {  # trait -> values, beside what the documents have
    "call": "choose TYPE lower Pascal camel camel_tool handle_ on_ dotted handler bare mcp own",
    "method": "handle_message protocol/message message process_message send_message mcp",
    "under": "message payload data msg body envelope flat",
    "names": "camel",
    "kind": "type messageType",
    "register": "tool type alias message mcp bare path least",
    "meta": "flat agent meta agent_info metadata",
    "name": "name agent_name nickname",
    "endpoint": "endpoint callback_url url base_url address mcp_endpoint",
    "lacks": "sender timestamp conversation_id version protocol auth_token game_types"
    " message_type match_id player_id",
    "nulls": "yes",
    "stamp": "micros offset compact epoch",
    "unknown": "404 400 405 422 500 501 ok type inside success html text list rpc400",
    "unfit": "rpc 400 500 text html",
    "place": "message data payload response result body response.data data.result.message text"
    " message.text top",
    "id": "str int",
    "returns": "one none text",
    "late": "0.3 1.0",
    "path": "none root deep",
    "threads": "one",
    "http": "close chunked text lower 1.0 eof 201 indent crlf charset",
}
PLAYER = AGENT | {
    "reads": "camel",
    "needs": "player_id league_id round_id auth_token opponent_id conversation_id timestamp"
    " role_in_match sender deadline context game_type protocol game_id opponent game_invitation"
    " parity_context",
    "join": "accepted ack status lower joined text response typed ready",
    "move": "choice move parity selection decision inner move_object word",
    "push": "after before",
    "busy": "yes",
}
REFEREE = AGENT | {
    "call": "TYPE lower Pascal camel camel_tool handle_ on_ dotted handler bare mcp own",
    "register": "tool type alias message mcp bare path",
    "lacks": "sender timestamp conversation_id version protocol game_types message_type",
    "start": "ASSIGN_MATCH MATCH_ASSIGNMENT RUN_MATCH ROUND_ANNOUNCEMENT",
    "players": "a 1 url list objects",
    "answer": "ok result late",
    "league": "own",
    "shows": "none null",
    "reads": "choice top",
    "report": "word empty flat winner_id seats points zero strange",
}
MANAGER = {
    "form": "league type lower message bare mcp path api named role",
    "unknown": "404 400 405 422 500 501 ok type inside success html text rpc400",
    "needs": "version agent_type endpoint",
    "yes": "registered flat id unnamed empty",
    "start": "assign_match run_match match_assignment announce get_assigned_matches"
    " get_next_match GET_MATCHES",
    "seats": "letters numbers list map",
    "where": "asked",
    "result": "answer",
    "reads": "flat",
    "draw": "empty DRAW",
    "refuses": "400 500",
    "fails": "500 rpc error",
    "open": "yes",
    "threads": "no",
    "strict": "fields",
    "rounds": "told",
    **{name: AGENT[name] for name in ("method", "under", "names", "kind", "nulls", "stamp")},
    **{name: AGENT[name] for name in ("place", "id", "returns", "http")},
    "call": "TYPE lower Pascal camel camel_tool handle_ on_ dotted handler bare mcp",
    "lacks": "sender timestamp conversation_id protocol message_type",
}
ROLES = {"player": PLAYER, "referee": REFEREE, "manager": MANAGER}
SEVERAL = ("lacks", "needs")  # traits with more than one value at a time
LIKELY = ("call", "unknown", "start", "players", "answer", "report", "form", "yes")  # in most
SHOWN = ("Pascal", "camel", "camel_tool", "dotted")  # only its registration can show these
POLLS = ("get_assigned_matches", "get_next_match", "GET_MATCHES")  # A referee asks by its id.
UNNAMED = ("game_id", "opponent", "game_invitation", "parity_context")  # no document has them


def composed(role, seed, chance=0.25):
    """The shape of an agent; each trait is unlike the documents by this chance."""
    random = Random(f"{role} {seed}")
    traits = {"seed": str(seed)}
    for name, values in ROLES[role].items():
        if random.random() < (0.75 if name in LIKELY else chance):
            count = random.randint(1, 3) if name in SEVERAL else 1
            traits[name] = "+".join(random.sample(values.split(), count))
    if role == "player" and random.random() < 0.5:
        traits["moves"] = "odd"
    return shape(settled(traits))


def shape(traits):
    return ",".join(f"{name}={value}" for name, value in traits.items())


def settled(traits):
    """The traits without those that mean nothing beside the others, or that nobody could guess."""
    traits = dict(traits)
    for is_so, names in _MEANINGLESS:
        if is_so(traits):
            for name in names.split():
                traits.pop(name, None)
    _keep_what_is_said(traits)
    return traits


def _keep_what_is_said(traits):
    """Somewhere it must say what a message is, and what it needs."""
    lacks = [each for each in traits.get("lacks", "").split("+") if each]
    is_said_by_type = traits.get("call") in ("handler", "bare") or traits.get("join") == "typed"
    if is_said_by_type and "message_type" in lacks:
        lacks.remove("message_type")
    if "push" in traits:
        lacks = [each for each in lacks if each not in ("match_id", "player_id", "message_type")]
    needs = [each for each in traits.get("needs", "").split("+") if each]
    if traits.get("unfit") in ("500", "html"):
        needs = [each for each in needs if each not in UNNAMED]
    for name, values in (("lacks", lacks), ("needs", needs)):
        traits.pop(name, None)
        if values:
            traits[name] = "+".join(values)


def _is_shown_only(traits):
    call, method = traits.get("call"), traits.get("method", "handle_message")
    is_usual = method in ("handle_message", "protocol/message")
    return (
        call in SHOWN
        or (call == "handler" and not (is_usual and traits.get("under") == "message"))
        or any(name in traits for name in ("names", "kind"))
        or traits.get("id") == "str"
    )


_MEANINGLESS = [  # if that is so, these traits mean nothing
    (lambda it: it.get("call") != "handler", "method"),
    (lambda it: it.get("call") not in ("handler", "mcp", "own"), "under"),
    (lambda it: it.get("call") not in ("handler", "bare"), "kind"),
    (lambda it: it.get("call") == "bare", "id returns"),
    (lambda it: it.get("call") in ("bare", "mcp", "own") and it.get("place") == "top", "place"),
    (lambda it: it.get("call") in ("mcp", "own"), "needs"),  # Its tools list what they need.
    (lambda it: it.get("names") != "camel" and it.get("reads") == "camel", "reads"),
    (lambda it: it.get("names") == "camel", "kind name endpoint"),
    (_is_shown_only, "register"),
    (lambda it: it.get("register"), "meta name endpoint"),
    (lambda it: "push" in it, "place move join"),
    (lambda it: it.get("move") == "word", "nulls"),
    (lambda it: it.get("threads") == "one", "http"),
    (lambda it: it.get("call") in ("mcp", "own") and it.get("reads") == "top", "reads"),
    (lambda it: it.get("start") == "ROUND_ANNOUNCEMENT", "players"),
    # Of managers.
    (lambda it: it.get("start") in (*POLLS, "announce"), "result"),
    (lambda it: it.get("start") in POLLS and it.get("yes") in ("unnamed", "empty"), "yes"),
    (lambda it: it.get("result") == "answer", "reads draw refuses fails open"),
    (lambda it: it.get("refuses") == "500" and "open" not in it, "refuses"),  # Or did it count?
    (lambda it: "draw" not in it, "refuses"),
    (lambda it: it.get("seats") == "map", "where"),
    (lambda it: "strict" in it, "needs reads"),  # It wants more fields, or only the documented.
]


def smaller(shape_text):
    """The same composition with one trait less, for each of its traits."""
    traits = traits_of(shape_text)
    seen = {shape_text}
    for name, value in traits.items():
        if name == "seed":
            continue
        rest = {each: held for each, held in traits.items() if each != name}
        parts = value.split("+") if name in SEVERAL else []
        fewer = [{**traits, name: "+".join(p for p in parts if p != part)} for part in parts]
        for one in [rest, *(fewer if len(parts) > 1 else [])]:
            text = shape(settled(one))
            if text not in seen:
                seen.add(text)
                yield text


def singles(role):
    """An agent for each value of each trait, all else as documented or as that value needs."""
    beside = {
        "method": {"call": "handler"},
        "under": {"call": "handler"},
        "kind": {"call": "bare"},
    }
    number = 1000
    for name, values in ROLES[role].items():
        for value in values.split():
            number += 1
            more = {"names": "camel"} if value == "camel" and name == "reads" else {}
            traits = {"seed": str(number), **beside.get(name, more), name: value}
            yield shape(settled(traits))
