"""What several rules for managers ask: what a refusal says, and what a table holds."""

import json
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from msgspec import Struct

from agentleague.conformance.bench import Fields
from agentleague.conformance.exchange import Answer, Exchange
from agentleague.conformance.listener import Received
from agentleague.conformance.manager_agents import (
    END,
    ROUND,
    TABLE,
    AgentOfTheKit,
    Match,
    name_of,
    said_in,
)
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.rules import Broken, NotReached
from agentleague.conformance.target import POLL_SECONDS
from agentleague.runtime.clock import stopwatch

# Numbers and codes of one meaning; the documents disagree, so any of theirs will do.
MISSING = ("E003", "E002", -32602)
NO_TOKEN = ("E011", "E013", "E012", 12, 5001, 6001)
WRONG_TOKEN = ("E012", "E011", 12, 5001, 6001)
OTHER_MATCH = ("E015", 5002)
FALSE_HASH = "0123456789abcdef" * 4  # of a token that nobody was given
COUNTED = "{} wins, {} draws, {} losses, {} points"
ENDINGS = ("wins", "draws", "losses")
COUNTED_SECONDS = 5.0  # document 004 section 7.1.3
IS_TIME = re.compile(r"\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\d(\.\d+)?(Z|\+00:00)")


def about_everybody(
    check: Callable[[ManagerBench], str | None],
) -> Callable[[ManagerBench], str | None]:
    """A check that does not judge a manager by players that it should have refused."""

    @wraps(check)
    def tried(bench: ManagerBench) -> str | None:
        try:
            return check(bench)
        except Broken:
            bench.blame()
            raise

    return tried


class Reason(Struct):
    """What an answer refuses with."""

    code: str = ""  # of the documents: E003
    number: int | None = None  # of JSON-RPC
    text: str = ""

    def says(self, meant: Iterable[str | int], words: str = "") -> bool:
        """Whether it gives one of these codes or numbers, or else says it in words."""
        is_coded = any(each in (self.code, self.number) for each in meant)
        return is_coded or bool(words and re.search(words, self.text, re.IGNORECASE))


def reason_of(bench: ManagerBench, answer: Answer) -> Reason | None:
    """What an answer refuses with; None if it refuses nothing."""
    bench.expect_answer(answer)
    body = answer.fields() or {}
    said = bench.said(answer)
    error = body.get("error")
    if error is None and said.get("success") is False:
        error = said.get("error")
    is_rejected = said.get("status") in ("REJECTED", "ERROR", "FAILED")
    is_error = said.get("message_type") == "LEAGUE_ERROR" or "error_code" in said
    if error is None and (is_rejected or is_error or (answer.status or 0) >= 400):
        error = said or body or {"message": answer.body.decode(errors="replace")}
    if error is None:
        return None
    if not isinstance(error, dict):
        return Reason(text=str(error))
    data = error.get("data")
    fields = error | data if isinstance(data, dict) else error
    numbers = (each for each in (fields.get("code"), error.get("code")) if isinstance(each, int))
    words = ("message", "error_message", "error_description", "reason", "hint", "detail")
    return Reason(
        code=str(fields.get("error_code", "")),
        number=next(numbers, None),
        text=" ".join(str(fields[word]) for word in words if fields.get(word)),
    )


def expect_reason(
    bench: ManagerBench, answer: Answer, meant: tuple[str | int, ...], words: str = ""
) -> None:
    """Break the rule unless the answer refuses, and for this reason."""
    found = reason_of(bench, answer)
    first = meant[0] if meant else words
    if found is None:
        raise Broken(f"a refusal with {first}, and not that it is taken")
    if not found.says(meant, words):
        said = f"with {found.code or found.number}" if found.code or found.number else ""
        raise Broken(f"a refusal with {first}; it refuses {said or 'without a code'}")


def expect_registration_refused(
    bench: ManagerBench, changed: Fields, meant: tuple[str | int, ...], words: str = ""
) -> None:
    """Break the rule unless a player that registers so is refused for this reason.

    The same player registers without the fault later; nobody's place is used up by this.
    """
    bench.join(bench.players[0])  # Where nobody can register, nothing is shown.
    player = bench.next_player()
    meta = changed.get("player_meta", {})
    message = bench.registration(player, **meta)
    message |= {key: value for key, value in changed.items() if key != "player_meta"}
    answer = bench.ask({key: value for key, value in message.items() if value is not ...})
    if bench.is_in(player, answer):
        player.fault = " and ".join(_fault(*each) for each in meta.items())
        raise Broken(f"a refusal with {meant[0]}, and not that it is registered")
    expect_reason(bench, answer, meant, words)


def _fault(name: str, value: Any) -> str:
    return f"without `{name}`" if value is ... else f"with `{name}` {shown(value)}"


def shown(value: Any) -> str:
    """As it stands in a message."""
    return json.dumps(value, ensure_ascii=False)


def rows_in(fields: Fields, *names: str) -> list[Fields]:
    """The rows of a table in a message or in an answer, as they were sent."""
    data = fields.get("data")
    places: list[Any] = [data, fields] if isinstance(data, dict) else [fields]
    for place in places:
        for name in names or ("standings", "final_standings"):
            rows = place.get(name)
            if isinstance(rows, list):
                return [row for row in rows if isinstance(row, dict)]
    return []


def table_after(bench: ManagerBench, number: int, player: AgentOfTheKit) -> Received:
    """The last table that a player was sent for a round, as the kit believes it to be over."""
    bench.over(number)
    seen = until_next(bench, number, player)
    tables = [each for each in seen if name_of(each) == TABLE]
    if not tables:
        raise Broken(f"{TABLE} to {player.id} after round {number}", last_of(player))
    return tables[-1]


def until_next(bench: ManagerBench, number: int, player: AgentOfTheKit) -> list[Received]:
    """All that a player was told before the round after this one, or before the end."""
    following = f"round {number + 1} or the end"
    last = len(bench.play.rounds) <= number
    found = bench.heard(
        lambda each: name_of(each) == END if last else is_announced(each, number + 1),
        bench.limits.next_step,
        [player],
    )
    if found is None:
        raise NotReached(f"{player.id} was not told of {following}")
    received = list(player.listener.received)
    return received[: received.index(found)]


def is_announced(received: Received, number: int) -> bool:
    """Whether this is the announcement of a round."""
    return name_of(received) == ROUND and said_in(received).get("round_id") == number


def announcements(bench: ManagerBench, number: int = 1) -> list[Received]:
    """The announcement of a round as each player was sent it."""
    bench.round(number)
    found = []
    for player in bench.sound():
        each = bench.heard(
            lambda received: is_announced(received, number), bench.limits.next_step, [player]
        )
        if each is None:
            raise Broken(f"{ROUND} of round {number} to {player.id} too", last_of(player))
        found.append(each)
    return found


def last_of(agent: AgentOfTheKit) -> Exchange | None:
    """The last thing that an agent of the kit was told, as evidence."""
    received = list(agent.listener.received)
    return received[-1].exchange() if received else None


def other_referee(bench: ManagerBench, match: Match) -> AgentOfTheKit:
    """A referee that was not given the match."""
    own = bench.referee_of(match)
    for referee in bench.referees:
        if referee is not own:
            return referee
    raise NotReached("the manager has room for one referee only, and this rule needs two")


def standings(bench: ManagerBench) -> list[Fields]:
    """The table as anybody can ask for it."""
    answer = bench.ask(bench.query("GET_STANDINGS"))
    rows = rows_in(bench.said(answer))
    if not rows:
        raise NotReached("GET_STANDINGS was not answered with a table")
    return rows


def settled(bench: ManagerBench) -> list[Fields]:
    """The table, as soon as it counts all that was reported; after 5 seconds as it is then."""
    until = stopwatch() + COUNTED_SECONDS
    while True:
        rows = standings(bench)
        if counted(rows) >= 2 * len(bench.play.results) or stopwatch() > until:
            return rows
        bench.players[0].listener.rest(POLL_SECONDS)


def counted(rows: Iterable[Fields]) -> int:
    """How many wins, draws and losses there are; what is no number counts for nothing."""
    values = (row.get(name) for row in rows for name in ENDINGS)
    return sum(each for each in values if type(each) is int)


def lacks(found: Any, expected: Fields) -> bool:
    """Whether an object does not say all this."""
    is_object = isinstance(found, dict)
    return not is_object or any(found.get(name) != value for name, value in expected.items())


def sums(rows: Iterable[Fields]) -> dict[str, tuple[Any, ...]]:
    """What rows say of each player, for a comparison."""
    names = ("wins", "draws", "losses", "points")
    return {str(row.get("player_id")): tuple(row.get(name) for name in names) for row in rows}


def played(bench: ManagerBench, number: int) -> dict[str, tuple[Any, ...]]:
    """What the table has to say after a round, in the form of `sums`."""
    counts = bench.play.counts(number)
    blank = (0, 0, 0, 0)
    found = {each.id: blank for each in bench.in_league()}
    return found | {
        player: (each.wins, each.draws, each.losses, each.points) for player, each in counts.items()
    }


def expect_counts(bench: ManagerBench, number: int, table: Received) -> None:
    """Break the rule unless the table says what each player won and lost."""
    expected, found = played(bench, number), sums(rows_in(said_in(table)))
    faulty = {each.id for each in bench.in_league() if each.fault}
    for player in sorted(expected, key=lambda each: each in faulty):
        if found.get(player) == expected[player]:
            continue
        if player in faulty:
            bench.blame()
        said = COUNTED.format(*expected[player])
        raise Broken(f"{player}: {said}", table.exchange())
