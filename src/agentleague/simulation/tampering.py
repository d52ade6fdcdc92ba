"""Changes the journal of a league that is over as a clever forger would: `verify` must object.

One row is changed, left out or repeated, and all rows are chained anew, so only what they say can
show it. What nobody can find out from the rows is not tried: what a foreign referee reported, and
what only a referee saw.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from agentleague.league.events import (
    LeagueEnded,
    LeagueStarted,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    PlayerJoined,
    RoundEnded,
    RoundScheduled,
    StageStarted,
    TimeUp,
)
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain

NOBODY = "REF99"


class Forgery(NamedTuple):
    """A journal that is not true any more."""

    what: str
    seq: int
    rows: Sequence[Row]


def forge(rows: Sequence[Row], events: Sequence[Event], chance: Random) -> Forgery | None:
    """One change at random; None if this journal has no row that it could be made to."""
    kind, what = chance.choice(list(CHANGES))
    of_kind = [(n, event) for n, event in enumerate(events) if type(event) is kind]
    found = [(n, CHANGES[kind, what](event)) for n, event in of_kind]
    places = [(n, instead) for n, instead in found if instead is not None]
    if not places:
        return None
    place, instead = chance.choice(places)
    return Forgery(f"{kind.__name__} {what}", place + 1, _chained(rows, place, instead))


def _chained(rows: Sequence[Row], place: int, instead: Sequence[Event]) -> list[Row]:
    """The rows with other events in this place."""
    league_id, at = rows[place].league_id, rows[place].at
    later = [(row.at, (row.kind, row.version, row.body)) for row in rows[place + 1 :]]
    chained = list(rows[:place])
    head: Head | Row = chained[-1] if chained else chain.start(league_id)
    for when, entry in [*((at, chain.entry(event)) for event in instead), *later]:
        (head,) = chain.extend(head, league_id, when, [entry])
        chained.append(head)
    return chained


def _field(name: str, change: Callable[[Any], Any]) -> Callable[[Any], Sequence[Event] | None]:
    """Another value of a field, unless `change` says None."""

    def changed(event: Any) -> Sequence[Event] | None:
        value = change(getattr(event, name))
        return None if value is None else [replace(event, **{name: value})]

    return changed


def _more(number: int) -> int:
    return number + 1


def _in_result(name: str, change: Callable[[MatchDecided], Any]) -> Any:
    """Another result, where it can be recomputed."""

    def changed(event: MatchDecided) -> Sequence[Event] | None:
        value = change(event) if event.verified and event.result.no_contest is not True else None
        other = replace(event, result=replace(event.result, **{name: value}))
        return None if value is None else [other]

    return changed


def _loser(event: MatchDecided) -> str | None:
    others = [each for each in event.result.choices if each != event.result.winner_player_id]
    return others[0] if others and event.result.winner_player_id else None


def _number(event: MatchDecided) -> int | None:
    number = event.result.drawn_number
    return None if number is None else number % 10 + 1


def _in_first_match(**changes: Callable[[Any], Any]) -> Any:
    def changed(event: RoundScheduled) -> Sequence[Event]:
        first, *others = event.matches
        other = replace(first, **{name: change(first) for name, change in changes.items()})
        return [replace(event, matches=[other, *others])]

    return changed


def _flipped(text: str) -> str | None:
    return ("1" if text[0] == "0" else "0") + text[1:] if text else None


CHANGES: dict[tuple[type[Event], str], Callable[[Any], Sequence[Event] | None]] = {
    (LeagueStarted, "without a player"): _field("players", lambda players: players[1:]),
    (LeagueStarted, "with another draw of the champion"): _field("champion_commitment", _flipped),
    (RoundScheduled, "with seats swapped"): _in_first_match(
        player_a=lambda match: match.player_b, player_b=lambda match: match.player_a
    ),
    (RoundScheduled, "with another commitment"): _in_first_match(
        commitment=lambda match: _flipped(match.commitment)
    ),
    (RoundScheduled, "for a stranger"): _in_first_match(referee_id=lambda match: NOBODY),
    (RoundScheduled, "with other byes"): _field("byes", lambda byes: [] if byes else ["P01"]),
    (RoundScheduled, "as a later one"): _field("round_id", _more),
    (StageStarted, "with others first"): _field("players", lambda players: players[::-1]),
    (StageStarted, "left out"): lambda event: [],
    (PlayerJoined, "left out"): lambda event: [],
    (TimeUp, "twice"): lambda event: [event, event],
    (MatchAssigned, "in a later epoch"): _field("epoch", _more),
    (MatchAssigned, "to a stranger"): _field("referee_id", lambda referee_id: NOBODY),
    (MatchDecided, "with another number"): _in_result("drawn_number", _number),
    (MatchDecided, "for the loser"): _in_result("winner_player_id", _loser),
    (MatchDecided, "with another seed"): _field("seed", _flipped),
    (MatchDecided, "in another epoch"): _field("epoch", _more),
    (MatchDecided, "twice"): lambda event: [event, event],
    (MatchDecided, "left out"): lambda event: [],
    (MatchClosed, "in a later epoch"): _field("epoch", _more),
    (MatchClosed, "twice"): lambda event: [event, event],
    (MatchClosed, "left out"): lambda event: [],
    (RoundEnded, "left out"): lambda event: [],
    (LeagueEnded, "with another seed"): _field("seed", _flipped),
    (LeagueEnded, "with another champion"): _field("champion", lambda champion: "P99"),
    (LeagueEnded, "twice"): lambda event: [event, event],
}
