"""The kit as manager and referee of one player."""

import itertools
import json
import re
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentleague.conformance.bench import LATE_MAX, Fields, now
from agentleague.conformance.exchange import Answer
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener, Received, Reply, acknowledge, refuse_unknown
from agentleague.conformance.registering import RegisteringBench
from agentleague.conformance.rules import Broken, NotReached
from agentleague.conformance.target import Target, Unreachable
from agentleague.conformance.wire import refusal
from agentleague.dialects import requests
from agentleague.dialects.answers import read_pushed
from agentleague.dialects.table import DIALECTS, Dialect
from agentleague.errors import LeagueError
from agentleague.protocol.codec import encode, taken_by
from agentleague.protocol.messages import (
    MESSAGES,
    ChooseParityResponse,
    GameJoinAck,
    GameOver,
    Message,
)
from agentleague.runtime.clock import stopwatch

LEAGUE_ID = "league_check_even_odd"
PLAYER_ID, OPPONENT_ID = "P01", "P02"
TOKEN, REFEREE_TOKEN = "tok_P01_c0ffee", "tok_REF01_c0ffee"
FORMS = ("tool", "choose", "type", "message", "bare", "lower", "mcp")
MATCH_ID = re.compile(r'"match_id" ?: ?')
OWN_ID, NO_MATCH = re.compile(r'"R(\d{1,9})M1"'), "R0M0"
REGISTRATION = "LEAGUE_REGISTER_REQUEST"
TAKEN = taken_by("manager")
JOIN, CHOICE = "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"
READ_WITH = ("message_type", "match_id", "game_result", "action_required")
PUSHES = {"GAME_INVITATION": JOIN, "CHOOSE_PARITY_CALL": CHOICE, "GAME_ERROR": CHOICE}
RECORD = {"wins": 0, "losses": 0, "draws": 0, "points": 0}


class Match(Struct, frozen=True):
    """A match of the kit's, whose other player exists in messages only."""

    match_id: str
    conversation_id: str
    round_id: int


class Said(Struct, kw_only=True):
    """What a player answered to a question: in the answer itself, or pushed later."""

    answer: Answer
    fields: Fields  # as it wrote them
    message: Message | None  # as our own league reads it; None if that is nothing

    @property
    def joins(self) -> bool:
        """Whether it takes part."""
        return isinstance(self.message, GameJoinAck) and self.message.accept is not False

    @property
    def choice(self) -> Any:
        """What it chose, leniently read; None if that is nothing."""
        is_choice = isinstance(self.message, ChooseParityResponse)
        return self.message.parity_choice if is_choice else None  # type: ignore[union-attr]

    @property
    def is_refused(self) -> bool:
        """Whether it refused the question as such."""
        return self.answer.error is not None or (self.answer.status or 0) >= 400

    @property
    def is_legal(self) -> bool:
        """Whether it chose exactly `even` or `odd`."""
        return isinstance(self.choice, str) and self.choice in ("even", "odd")


class PlayerBench(RegisteringBench):
    """A player, whose manager and referee are the kit."""

    role = "player"
    sender = "referee:REF01"
    registers_with = REGISTRATION

    def __init__(self, target: Target, limits: Limits) -> None:
        self.pushes = False  # It acknowledges questions, and answers them by requests of its own.
        self.referee = Listener("referee", take_push, bind=target.bind)
        self._rounds = itertools.count(1)
        self.plays_several = True  # Some players are in one match at a time, until GAME_OVER.
        self._begun: dict[str, Dialect] = {}  # ids of matches that it may be in, and their form
        self._of_rule: dict[str, Dialect] = {}  # all that began since the rule did
        self._ends_matches = True
        self._usual: Fields = {}
        try:
            super().__init__(target, limits, manage)
        except BaseException:
            self.referee.close()
            raise

    def open(self) -> None:
        self.speaks = self.find_dialects()
        self._start_again()
        self._find_how_many()
        self._start_again()

    def _start_again(self) -> None:
        """After a crash, which is not the fault of what is tried next."""
        if (crash := self.ending()) and not self.revive():
            raise Unreachable(crash)

    def begin_rule(self) -> None:
        super().begin_rule()
        self.end_matches()
        self._of_rule.clear()

    def control(self) -> Fields:
        return self.controls(1)[0]

    def controls(self, count: int) -> list[Fields]:
        found = [self.invitation(match) for match in [self.match() for _ in range(count)]]
        for each in found:  # Some are sent where `keep` does not see it.
            self._begin(encode(each["match_id"]).decode())
        self._usual = found[-1]
        return found

    def usual(self) -> Fields:
        return self._usual or self.control()

    def keep(self, what: str, sent: bytes, answer: Answer) -> Answer:
        if b"GAME_OVER" in sent:
            for each in _match_ids(sent):
                self._begun.pop(each, None)
        elif b"GAME_INVITATION" in sent.replace(b"\0", b""):
            for each in _match_ids(sent):
                self._begin(each)
        return super().keep(what, sent, answer)

    def _begin(self, match_id: str) -> None:
        self._begun[match_id] = self._of_rule[match_id] = self.dialect

    def end_matches(self) -> None:
        """Tell the end of all matches: some players are in one at a time, until it is over."""
        while self._begun and self._ends_matches:
            match_id, dialect = self._begun.popitem()
            own = OWN_ID.fullmatch(match_id)
            match = replace(_match(int(own[1]) if own else 1), match_id=NO_MATCH)
            over = msgspec.convert(self.game_over(match), GameOver)
            body = dialect.write(over, self.next_id(), self.tools)
            body = body.replace(encode(NO_MATCH), match_id.encode())  # It may be no text.
            answer = self.peer.post(body, seconds=self.limits.game_over)
            if answer.status is None:
                self.keep("GAME_OVER", body, answer)
            self._ends_matches = not answer.is_late  # Else it takes as long each time.

    def is_taken(self, answer: Answer) -> bool:
        if isinstance(self.read(self.usual(), answer), GameJoinAck):
            return self.said_to(self.usual(), answer).joins
        asked = next((each.sent for each in self.exchanges if each.answer is answer), b"")
        found = _match_ids(asked)[:1] if self.pushes else []
        messages = [self.usual() | {"match_id": json.loads(each)} for each in found]
        return any(self.said_to(each, answer, self.limits.join).joins for each in messages)

    def is_served(self, answer: Answer) -> bool:
        is_refused = (answer.status or 500) < 500 and refusal(answer) is not None
        return self.is_taken(answer) or (is_refused and not self.plays_several)

    def ending(self) -> str:
        self.end_matches()  # It may crash at that.
        return super().ending()

    def still_takes(self, after: str) -> None:
        try:
            super().still_takes(after)
        except Broken:
            if self.plays_several:
                raise
            self._begun |= self._of_rule  # It may have read the end of one before its beginning.
            super().still_takes(after)

    def match(self) -> Match:
        """A match that was never spoken of before; those before it are over."""
        self.end_matches()
        return _match(next(self._rounds))

    def invitation(self, match: Match, **fields: Any) -> Fields:
        """GAME_INVITATION, with the fields of documents 001 and 004."""
        usual = {"game_type": "even_odd", "opponent_id": OPPONENT_ID, "role_in_match": "PLAYER_A"}
        return self.about("GAME_INVITATION", match, **usual | fields)

    def call(self, match: Match, **fields: Any) -> Fields:
        """CHOOSE_PARITY_CALL, with the fields of documents 001 and 004."""
        context = {"opponent_id": OPPONENT_ID, "round_id": match.round_id, "your_standings": RECORD}
        asked = self.about("CHOOSE_PARITY_CALL", match, game_type="even_odd", context=context)
        return asked | {"deadline": now(self.limits.move)} | fields

    def game_over(self, match: Match, **fields: Any) -> Fields:
        """GAME_OVER of a match that the player won."""
        result = {
            "status": "WIN",
            "winner_player_id": PLAYER_ID,
            "drawn_number": 8,
            "number_parity": "even",
            "choices": {PLAYER_ID: "even", OPPONENT_ID: "odd"},
            "reason": f"{PLAYER_ID} chose even, number was 8 (even)",
        }
        usual: Fields = {"game_type": "even_odd", "game_result": result}
        return self.about("GAME_OVER", match, **usual | fields)

    def about(self, message_type: str, match: Match, **fields: Any) -> Fields:
        """A message of a match to the player."""
        given = {
            "conversation_id": match.conversation_id,
            "league_id": LEAGUE_ID,
            "round_id": match.round_id,
            "match_id": match.match_id,
            "player_id": PLAYER_ID,
            "referee_endpoint": self.referee.url,
            "auth_token": REFEREE_TOKEN,
        }
        return self.message(message_type) | given | fields

    def read(self, asked: Fields, answer: Answer) -> Message | None:
        told = {name: value for name, value in asked.items() if name in READ_WITH}
        return super().read(told, answer)

    def invite(self, match: Match, **fields: Any) -> Said:
        """Invite it to a match."""
        return self.question(self.invitation(match, **fields), self.limits.join)

    def choose(self, match: Match, **fields: Any) -> Said:
        """Ask it for its choice in a match to which it was invited."""
        return self.question(self.call(match, **fields), self.limits.move)

    def question(self, message: Fields, seconds: float) -> Said:
        """Ask, and wait for the answer, also for one that is pushed, all in so many seconds."""
        until = stopwatch() + seconds
        answer = self.ask(message, seconds=seconds)
        return self.said_to(message, answer, max(0.0, until - stopwatch()))

    def said_to(self, message: Fields, answer: Answer, seconds: float = 0.0) -> Said:
        """What an answer to a message says, or what the player pushes in these seconds."""
        found = self.read(message, answer)
        is_silent = answer.status is None or answer.status >= 300 or answer.error is not None
        if found is None and self.pushes and not is_silent:
            pushed = self.pushed(message, seconds)
            if pushed:
                self.exchanges.append(pushed.exchange())
                asked = MESSAGES[PUSHES[message["message_type"]]].cls
                with suppress(LeagueError, msgspec.ValidationError):
                    read = read_pushed(PUSHES[message["message_type"]], encode(pushed.params()))
                    found = msgspec.convert(read, asked)
                return Said(answer=pushed.exchange().answer, fields=pushed.params(), message=found)
        return Said(answer=answer, fields=self.said(answer), message=found)

    def pushed(self, message: Fields, seconds: float) -> Received | None:
        """The answer to a message that the player brought by itself."""
        name, match_id = PUSHES.get(message["message_type"]), message.get("match_id")

        def is_it(received: Received) -> bool:
            return received.name == name and _find(received.params(), "match_id") == match_id

        return self.referee.wait_for(is_it, seconds)

    def find_dialects(self) -> list[str]:
        """The forms in which the player joins; the first of them is used from here on."""
        found: list[str] = []
        others = [each for each in DIALECTS if each not in FORMS]
        matches: dict[str, str] = {}  # match -> the form in which it was offered
        until = stopwatch() + self.limits.start
        for name in (*FORMS, *others):
            if self._is_enough(found, name in others) or stopwatch() > until:
                break
            self.speak(DIALECTS[name])
            invitation = self.control()
            matches[invitation["match_id"]] = name
            if self.is_taken(self.ask(invitation, seconds=self.limits.join)):
                found.append(name)
            self._start_again()
            if name == FORMS[-1] and not found:
                found += self._pushed_for(matches)
        self._use_first(found)
        return found

    def _is_enough(self, found: list[str], is_rare: bool) -> bool:
        """Whether no other form is tried."""
        if not found:
            self.refuse_silence()
        return bool(found) and (is_rare or self.late_in_a_row >= LATE_MAX)

    def _use_first(self, found: list[str]) -> None:
        self.speak(DIALECTS[found[0] if found else FORMS[0]])
        if found[:2] == ["tool", "choose"]:  # They differ in the call for a choice alone.
            match = self.match()
            self.invite(match)
            if self.question(self.call(match), self.limits.join).is_refused:
                del found[0]
                self.speak(DIALECTS[found[0]])

    def _find_how_many(self) -> None:
        """Whether it joins a match while it is in another one."""
        first, second = self.match(), self.match()
        self.plays_several = not self.invite(first).joins or not self.invite(second).is_refused

    def _pushed_for(self, matches: dict[str, str]) -> list[str]:
        """The forms to which the player has pushed, or pushes now, a join."""

        def is_join(received: Received) -> bool:
            return received.name == JOIN

        acknowledged = any(each.answer.status == 200 for each in self.exchanges)
        if not acknowledged or not self.referee.wait_for(is_join, self.limits.join):
            return []
        self.pushes = True
        self.referee.wait_for(lambda _: False, self.limits.quiet)  # Others may follow it.
        ids = {_find(each.params(), "match_id") for each in self.referee.received if is_join(each)}
        return [name for match_id, name in matches.items() if match_id in ids]

    def from_manager(self, message_type: str, **fields: Any) -> Fields:
        """A message of the kit's manager."""
        sender = {"sender": "league_manager", "league_id": LEAGUE_ID}
        return self.message(message_type) | sender | fields

    def restart_manager(self, between: Any) -> None:
        """End the kit's manager, do something, and begin it anew where it was."""
        before = self.manager
        before.close()
        try:
            between()
        finally:
            try:
                self.manager = Listener("manager", manage, bind=self.target.bind, port=before.port)
            except OSError as error:
                raise NotReached(f"port {before.port} was taken meanwhile ({error})") from None
            self.manager.received[:0] = before.received

    def close(self) -> None:
        self.referee.close()
        super().close()


def _match(number: int) -> Match:
    return Match(f"R{number}M1", f"conv-r{number}m1-001", number)


def _match_ids(sent: bytes) -> list[str]:
    """The ids of matches in a request as JSON, whatever they are, and however it is encoded."""
    text = sent.replace(b"\0", b"").decode(errors="replace")
    found = []
    for place in MATCH_ID.finditer(text):
        with suppress(ValueError, RecursionError):
            end = json.JSONDecoder().raw_decode(text, place.end())[1]
            found.append(text[place.end() : end])
    return found


def _find(fields: Any, name: str) -> Any:
    """The value of a field, however deep it stands."""
    if not isinstance(fields, dict):
        return None
    inner = (_find(each, name) for each in fields.values())
    return fields[name] if name in fields else next((each for each in inner if each), None)


def accept(received: Received) -> Reply:
    """What a manager answers a player that it takes in."""
    return received.result(
        {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_RESPONSE",
            "sender": "league_manager",
            "timestamp": now(),
            "conversation_id": received.params().get("conversation_id", "conv-register"),
            "status": "ACCEPTED",
            "player_id": PLAYER_ID,
            "league_id": LEAGUE_ID,
            "auth_token": TOKEN,
            "reason": None,
        }
    )


def take_push(received: Received) -> Reply:
    """What the kit's referee answers a player that brings its answer."""
    if received.name in (JOIN, CHOICE):
        return received.result({"message_type": "PUSH_ACK", "status": "ACKNOWLEDGED"})
    return acknowledge(received)


def _read_without_envelope(received: Received) -> None:
    """Read a registration whose time or protocol is wrong: rules of their own are about these."""
    body = received.fields() or {}
    if received.name != REGISTRATION:
        return
    found = requests.read_request(encode(_stripped(body)), TAKEN, path=received.path)
    if found.message:
        received.incoming = found


def _stripped(fields: Fields) -> Fields:
    kept = {name: value for name, value in fields.items() if name not in ("timestamp", "protocol")}
    return {name: _stripped(x) if isinstance(x, dict) else x for name, x in kept.items()}


def manage(received: Received, status: str = "RUNNING_LEAGUE") -> Reply:
    """What the kit's manager answers a player: no more than the documents have."""
    if received.message is None:
        _read_without_envelope(received)
    if received.name == REGISTRATION and received.message:
        return accept(received)
    if received.name == "LEAGUE_QUERY" and received.message:
        data: Fields = {"status": status, "standings": [], "next_match": None}
        answer: Fields = {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": data}
        answer["status"] = status
        return received.result(answer | {"query_type": received.params().get("query_type", "")})
    return refuse_unknown(received)
