"""Changes of what a manager says or hears, for a relay in front of it.

Each is a function from what the relay knows to a hook before a request passes, and one after.
"""

import json
import re
import threading
import urllib.request

from agentleague.conformance.manager_agents import NO_ENDPOINT
from conformance.between import IN, OUT, Passing, Relay, Said, nothing
from conformance.referee_changes import pass_on

PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
ROUND, TABLE = "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE"
COMPLETED, END = "ROUND_COMPLETED", "LEAGUE_COMPLETED"
REPORT, QUERY = "MATCH_RESULT_REPORT", "LEAGUE_QUERY"
FALSE = "0123456789abcdef"  # in a token that nobody was given


class Known:
    """What the relay knows of the agents of the kit that registered."""

    def __init__(self, relay: Relay):
        self.relay = relay
        self.tokens: dict[str, str] = {}  # by id
        self.ids: dict[int, str] = {}  # by the port where the manager calls it
        self.owners: dict[str, str] = {}  # id of the referee, by match
        self.state: dict = {}

    def see(self, passing: Passing):
        """Remember what passes."""
        said = passing.answer.message if passing.answer else {}
        if passing.direction == IN and passing.request.name in (PLAYER, REFEREE):
            meta = next((v for k, v in passing.request.message.items() if k.endswith("_meta")), {})
            id_ = said.get("player_id") or said.get("referee_id")
            if id_ and isinstance(meta, dict):
                self.tokens[id_] = said.get("auth_token", "")
                self.ids[int(meta["contact_endpoint"].split(":")[2].split("/")[0])] = id_
        if passing.direction == OUT and passing.request.name == "START_MATCH":
            self.owners[passing.request.message["match_id"]] = self.called(passing)

    def called(self, passing: Passing) -> str:
        """The id of the agent that the manager calls."""
        return self.ids.get(called_port(passing), "")


def called_port(passing: Passing) -> int:
    """Where the manager calls, of the relay."""
    port = re.search(rb"(?i)\r\nhost: *[^\r]*:(\d+)", passing.head)
    return int(port[1]) if port else 0


def hears(name, change, when=lambda passing: True):
    """Requests of this type to the manager are changed, or answered here."""

    def before(passing):
        if passing.direction == IN and passing.request.name == name and when(passing):
            change(passing)

    return lambda known: (before, nothing)


def answers(name, change, when=lambda passing: True):
    """Answers of the manager to requests of this type are changed."""

    def after(passing):
        if passing.direction == IN and passing.request.name == name and when(passing):
            change(passing)

    return lambda known: (nothing, after)


def sends(name, change, when=lambda passing, known: True):
    """Messages of this type from the manager are changed, or go no further."""

    def bound(known):
        def before(passing):
            is_it = passing.direction == OUT and passing.request.name == name
            if is_it and when(passing, known):
                change(passing)

        return before, nothing

    return bound


def swallow(passing):
    """The manager believes that it was acknowledged."""
    passing.result(status="ACKNOWLEDGED")


def to(*ids):
    return lambda passing, known: known.called(passing) in ids


def say(**changed):
    return lambda passing: passing.request.say(**changed)


def answer(**changed):
    return lambda passing: passing.answer.say(**changed)


def refuse(number=-32602, text="no"):
    def change(passing):
        id_ = (passing.request.fields or {}).get("id")
        passing.reply({"jsonrpc": "2.0", "id": id_, "error": {"code": number, "message": text}})

    return change


def meta(passing):
    return passing.request.message.get("player_meta") or {}


def mended(**fields):
    """What should be refused is mended on its way, and so taken."""

    def bound(known):
        def before(passing):
            if passing.direction != IN or passing.request.name != PLAYER:
                return
            found = passing.request.message["player_meta"] | fields
            if fields.get("contact_endpoint") == "":
                port = int(passing.request.message["sender"].rpartition("-")[2])
                found["contact_endpoint"] = f"http://127.0.0.1:{known.relay.front(port)}/mcp"
            passing.request.say(player_meta=found)

        return before, nothing

    return bound


def careless(known):
    """It takes players without a name, with a number for an end point, and of version 1."""

    def before(passing):
        request, nowhere = passing.request, known.state.get("nowhere")
        if passing.direction == OUT and nowhere:
            url = f'"http://127.0.0.1:{nowhere}/mcp"'.encode()
            request.body = request.body.replace(url, str(NO_ENDPOINT).encode())
            if called_port(passing) == known.relay.front(nowhere):
                swallow(passing)
        elif request.name == PLAYER:
            found = {"display_name": "Anybody"} | meta(passing) | {"protocol_version": "2.0.0"}
            if found.get("contact_endpoint") == NO_ENDPOINT:
                known.state["nowhere"] = int(request.message["sender"].rpartition("-")[2])
                port = known.relay.front(known.state["nowhere"])
                found["contact_endpoint"] = f"http://127.0.0.1:{port}/mcp"
            request.say(player_meta=found)

    return before, nothing


def only(broken, change):
    """The change, for such registrations alone."""

    def bound(known):
        before, after = change(known)
        return lambda passing: before(passing) if broken(meta(passing)) else None, after

    return bound


def respelled(there, back):
    """Names are spelled otherwise in all that the manager says, and back in what it hears."""

    def spell(said, pattern):
        said.body = re.sub(*pattern, said.body)

    def before(passing):
        spell(passing.request, back if passing.direction == IN else there)

    def after(passing):
        spell(passing.answer, there if passing.direction == IN else back)

    return lambda known: (before, after)


def rows(change):
    """The rows of all tables are changed."""

    def at(said, known):
        if b"standings" in said.body and isinstance(found := said.fields, dict):
            in_tables(found, lambda table: change(table, known) or table)
            said.fields = found

    def bound(known):
        def before(passing):
            if passing.direction == OUT:
                at(passing.request, known)

        def after(passing):
            if passing.direction == IN:
                at(passing.answer, known)

        return before, after

    return bound


def in_tables(found, change):
    for key, value in list(found.items()):
        if key in ("standings", "final_standings") and isinstance(value, list):
            found[key] = change(value)
        elif isinstance(value, dict):
            in_tables(value, change)


def without_names(found):
    return [{key: row[key] for key in row if key != "display_name"} for row in found]


def two_points(found, known):
    for row in found:
        row["points"] = 2 * row["wins"] + row["draws"]


def counts_more(is_it):
    """Once such a report was answered, every table counts a further win of the first player."""

    def bound(known):
        def more(found, known):
            for row in found:
                if known.state and row["player_id"] == "P01":
                    row["wins"], row["points"] = row["wins"] + 1, row["points"] + 3
                    row["played"] += 1

        before, change = rows(more)(known)

        def after(passing):
            if passing.direction == IN and passing.request.name == REPORT and is_it(passing):
                known.state["counted"] = True
            change(passing)

        return before, after

    return bound


def with_a_token_of(whose):
    """The report is taken whatever token it shows."""

    def bound(known):
        def before(passing):
            if passing.direction != IN or passing.request.name != REPORT:
                return
            message = passing.request.message
            if whose(message):
                owner = known.owners.get(message["match_id"], "REF01")
                changed = {"sender": f"referee:{owner}", "auth_token": known.tokens[owner]}
                passing.request.say(**changed)

        return before, nothing

    return bound


def completed_early(known):
    """The first report ends the round."""

    def after(passing):
        if passing.request.name != REPORT or passing.answer.message.get("status") != "ACCEPTED":
            return
        envelope = {"protocol": "league.v2", "sender": "league_manager", "conversation_id": "c"}
        envelope |= {"timestamp": "2026-01-15T10:30:00Z", "message_type": COMPLETED}
        message = envelope | {"round_id": passing.request.message["round_id"]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "notify_round_completed", "params": message}
        players = [port for port, id_ in known.ids.items() if id_.startswith("P")]
        for front in players:
            url = f"http://127.0.0.1:{front}/mcp"
            asked = urllib.request.Request(url, json.dumps(body).encode())
            urllib.request.urlopen(asked, timeout=5).close()

    return nothing, after


def stops_at_an_error(known):
    """Once a player refused a message, no round is announced any more."""

    def before(passing):
        if passing.direction == OUT and passing.request.name in (ROUND, END) and known.state:
            swallow(passing)

    def after(passing):
        is_refused = isinstance(passing.answer.fields, dict) and "error" in passing.answer.fields
        if passing.direction == OUT and passing.request.name in (TABLE, COMPLETED) and is_refused:
            known.state["refused"] = True

    return before, after


def tells_referees_nothing(known):
    """But that rounds and the league are over."""

    def before(passing):
        is_referee = passing.direction == OUT and known.called(passing).startswith("REF")
        if is_referee and passing.request.name not in (COMPLETED, END):
            swallow(passing)

    return before, nothing


def first_match(**changed):
    """The first match in an announcement is changed."""

    def change(passing):
        matches = passing.request.message["matches"]
        matches[0] = {k: v for k, v in (matches[0] | changed).items() if v is not ...}
        passing.request.say(matches=matches)

    return change


def same_player_twice(passing):
    matches = passing.request.message["matches"]
    matches[-1]["player_A_id"] = matches[0]["player_A_id"]
    passing.request.say(matches=matches)


def bare_start(passing):
    said = passing.request.message
    kept = ("message_type", "match_id", "round_id", "player_A_id", "player_B_id")
    passing.request.fields = passing.request.fields | {"params": {k: said[k] for k in kept}}


def data(**changed):
    """The data of an error is changed; with nothing it is left out."""

    def change(passing):
        found = passing.answer.fields
        if not isinstance(found, dict) or "error" not in found:
            return
        inner = found["error"].get("data", {}) | changed
        found["error"]["data"] = {k: v for k, v in inner.items() if v is not ...}
        if not changed:
            del found["error"]["data"]
        passing.answer.fields = found

    return change


def numbered(passing):
    found = passing.answer.fields
    if isinstance(found, dict) and found.get("error", {}).get("code") == 5001:
        found["error"]["code"] = 12
        passing.answer.fields = found


def taken(passing):
    """A refusal is turned into a yes."""
    if "error" in (passing.answer.fields or {}):
        asked = passing.request.message
        ack = {"message_type": "MATCH_RESULT_ACK", "status": "ACCEPTED"}
        passing.result(**ack, match_id=asked.get("match_id"), round_id=asked.get("round_id"))


def told(**more):
    """A refused query is answered with something."""

    def change(passing):
        if has_error(passing):
            known = {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": {}}
            asked = {"query_type": passing.request.message.get("query_type")}
            passing.result(**(known | asked | more))

    return change


def let_in(passing):
    """A refused player is let in."""
    refused = passing.answer.message.get("status") == "REJECTED"
    if refused or "error" in (passing.answer.fields or {}):
        ack = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED"}
        passing.result(**ack, player_id="P77", auth_token="tok_P77_1", league_id="league_x")


def is_late(passing):
    name = meta(passing).get("display_name", "")
    return name in ("Kit latecomer",)


def is_after_the_end(passing):
    return meta(passing).get("display_name") == "Kit straggler"


def asks(query_type):
    return lambda passing: passing.request.message.get("query_type") == query_type


def second_player(passing):
    return passing.answer.message.get("player_id") == "P02"


def another_id_if_repeated(known):
    def after(passing):
        if passing.direction == IN and passing.request.name == PLAYER:
            if known.state.get("first") and passing.answer.message.get("player_id") == "P01":
                passing.answer.say(player_id="P66")
            known.state["first"] = known.state.get("first") or "P01" in str(passing.answer.message)

    return nothing, after


def first_token_for_the_second(known):
    def after(passing):
        if passing.direction == IN and passing.request.name == PLAYER and second_player(passing):
            passing.answer.say(auth_token=known.tokens["P01"])

    return nothing, after


def technical_as_draw(passing):
    result = passing.request.message["result"]
    score = dict.fromkeys(result["score"], 1)
    details = {"drawn_number": 8, "choices": dict.fromkeys(score, "even"), "status": "DRAW"}
    passing.request.say(result={"winner": None, "score": score, "details": details})


def is_technical(passing):
    result = passing.request.message.get("result") or {}
    return result.get("details", {}).get("status") == "TECHNICAL_LOSS"


def has_error(passing):
    return "error" in (passing.answer.fields or {}) or "error" in passing.answer.message


def once(change):
    """Only the first time."""
    seen = []

    def first(passing):
        if not seen:
            change(passing)
        seen.append(passing)

    return first


def respells(pattern, text):
    """A change of the text of an answer."""

    def change(passing):
        passing.answer.body = re.sub(pattern, text, passing.answer.body)

    return change


def is_named(name):
    return lambda passing: meta(passing).get("display_name") == name


def is_told(query_type, **params):
    """Whether it is a query of this type, with these parameters, that is answered."""

    def is_it(passing):
        asked = passing.request.message
        is_asked = asked.get("query_params", {}).get("round_id") == params.get("round_id")
        return asked.get("query_type") == query_type and is_asked and not has_error(passing)

    return is_it


def in_rows(change):
    """A change of each row of a table in an answer."""

    def changed(passing):
        found = passing.answer.fields
        in_tables(found["result"], lambda table: [row | change() for row in table])
        passing.answer.fields = found

    return lambda passing: changed(passing) if b"standings" in passing.answer.body else None


def without_commitments(passing):
    matches = passing.request.message["matches"]
    for match in matches:
        match.pop("draw_commitment", None)
    passing.request.say(matches=matches)


def shows_the_token(passing):
    data(provided_token=passing.request.message.get("auth_token", ""))(passing)


def all_to_one_referee(known):
    """The first referee is given what is the second's, and may report it."""
    tokens = {"REF01": "REF02", "REF02": "REF01"}

    def before(passing):
        said = passing.request.message
        if passing.direction == IN and passing.request.name == REPORT:
            own = {known.tokens[id_]: id_ for id_ in tokens}
            if known.owners.get(said.get("match_id")) == "REF02" and said.get("auth_token") in own:
                id_ = tokens[own[said["auth_token"]]]
                passing.request.say(sender=f"referee:{id_}", auth_token=known.tokens[id_])
        elif passing.direction == OUT and known.called(passing) == "REF02":
            if passing.request.name == "START_MATCH":
                port = next(port for port, id_ in known.ids.items() if id_ == "REF01")
                head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
                pass_on(known.relay, Passing(OUT, head, Said(passing.request.body)))
            if passing.request.name in ("START_MATCH", ROUND):
                swallow(passing)

    return before, nothing


def tables_after_rounds(known):
    """A table is sent after ROUND_COMPLETED."""
    held = known.state

    def before(passing):
        if passing.direction == OUT and passing.request.name == TABLE:
            held[called_port(passing)] = Passing(OUT, passing.head, Said(passing.request.body))
            swallow(passing)

    def after(passing):
        port = called_port(passing)
        if passing.direction == OUT and passing.request.name == COMPLETED and port in held:
            pass_on(known.relay, held.pop(port))

    return before, after


def waits_for_ever(known):
    """While a player has not answered, nobody is told of the next round, or of the end."""
    asked, changed = set(), threading.Condition()

    def before(passing):
        if passing.direction == OUT and passing.request.name in (TABLE, COMPLETED):
            with changed:
                asked.add(called_port(passing))
        if passing.direction == OUT and passing.request.name in (ROUND, END):
            with changed:
                if not changed.wait_for(lambda: not asked, 20):
                    swallow(passing)

    def after(passing):
        if passing.direction == OUT:
            with changed:
                asked.discard(called_port(passing))
                changed.notify_all()

    return before, after
