"""The stages of a league, each with a format: which one runs, who is in it, what comes next.

Formats are found by name in one table, never loaded by what a journal says.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from typing import Any, NamedTuple

from agentleague.errors import Damaged
from agentleague.league.formats.format import (
    ELO,
    Done,
    Entrant,
    Format,
    Option,
    Options,
    Played,
    PlayedMatch,
    PlayedRound,
    Round,
    Stage,
    Totals,
)
from agentleague.league.formats.groups import GROUPS
from agentleague.league.formats.knockout import KNOCKOUT
from agentleague.league.formats.ladder import LADDER
from agentleague.league.formats.round_robin import ROUND_ROBIN, longest
from agentleague.league.formats.swiss import SWISS
from agentleague.league.standings import Points
from agentleague.protocol import draws
from agentleague.protocol.printable import nearest
from agentleague.roles.settings import ManagerSettings

FORMATS: Mapping[str, Format] = {
    each.name: each for each in (ROUND_ROBIN, SWISS, KNOCKOUT, GROUPS, LADDER)
}
FOLLOWED_BY = {"groups": "knockout"}  # what comes after a format that is a league's only one
STAGES_MAX = 100
_SETTINGS = {each.name for each in fields(ManagerSettings)}.difference(  # that are no options
    {"format", "stages"}, *(each.options for each in FORMATS.values())
)


class NextStage(NamedTuple):
    """A stage is over; the next one begins with these players, by seed."""

    stage: int  # from 1
    players: Sequence[str]


class Begun(NamedTuple):
    """A stage that has begun, as a format wants to know it."""

    stage: int  # from 1
    format: Format
    options: Options
    field: Sequence[Entrant]
    began: int  # rounds before it
    played: Played

    def scores(self) -> Mapping[str, int]:
        """The points that each won in it."""
        worth = self.format.bye_points(self.played.points, self.options)
        return self.played.scores(self.field, worth)


class StageProgress:
    """Where the stages of one league stand. A round is counted over all of them from 1 on."""

    def __init__(
        self, stages: Sequence[Stage], points: Points, known: Mapping[str, Format] = FORMATS
    ) -> None:
        self.stages = stages
        self._points = points
        self._formats = [find_format(stage, known) for stage in stages]
        self.stage = 0  # which one runs, from 1 on
        self._options = [_completed(each) for each in zip(self._formats, stages, strict=True)]
        self.format, self.options = self._formats[0], self._options[0]  # of it, or of the first
        self.began = 0  # rounds before it
        self.field: list[Entrant] = []  # who is in it
        self.stage_totals: Totals | None = None  # of it, if known
        self.totals: Totals | None = None  # of the league, once its last stage runs, if known
        self._fields: list[tuple[int, list[Entrant]]] = []  # by stage: rounds before, who is in it
        self.is_time_up = False
        self.rounds = 0  # that have ended
        self.results: list[PlayedRound] = []  # of these, unless all is fixed
        self._counted: dict[str, Any] = {}  # by the format, of those of its stage
        self._merits: dict[str, tuple[int, int]] = {}  # of those who are in no later stage
        self.is_fixed = len(stages) == 1 and not self._formats[0].pairs_by_results(self.options)

    def _count(self) -> None:
        """How long the stage will be, and once the last one runs the league."""
        own = self.stage_totals = self.format.begin(self.field, self.options)
        before = sum(len(each.matches) for each in self.results[: self.began])
        is_last = self.stage == len(self.stages)
        self.totals = (
            Totals(self.began + own.rounds, before + own.matches) if own and is_last else None
        )

    def begin(
        self, players: Sequence[str], elo: Mapping[str, int], removed: Set[str] = frozenset()
    ) -> None:
        """Begin the first or the next stage. Raises ValueError if there can be none of these."""
        if len(set(players)) < len(players):
            raise ValueError("a player is named twice")
        elos = {each.player_id: each.elo for each in self.field} | dict(elo)
        self._merits = self.merits(removed)
        self.stage += 1
        self.format, self.options = self._formats[self.stage - 1], self._options[self.stage - 1]
        self.began, self.is_time_up, self._counted = self.rounds, False, {}
        self.field = [Entrant(each, 1, elos.get(each, ELO)) for each in players]
        self._fields.append((self.began, self.field))
        self._count()

    def join(self, player_id: str, elo: int = ELO) -> None:
        """Somebody who comes late is in the next round, or with the next cycle."""
        self.field.append(Entrant(player_id, self.rounds - self.began + 1, elo))
        self._count()
        self.is_fixed = False

    def has_room(self, scheduled: int, sizes: Iterable[int]) -> bool:
        """Whether somebody who comes after so many rounds would be paired in this stage.

        `sizes` are how many matches each of its rounds has; only a ladder by matches adds them up.
        """
        next_round, late = scheduled - self.began + 1, self.format.late
        most = self.options.get("matches")  # of a ladder
        if late == "never" or self.is_time_up or (most and sum(sizes) >= most):
            return False
        if late == "cycle":
            options = longest(self.options)
            more = [*self.field, Entrant("", next_round)]
            return self.format.begin(more, options) != self.format.begin(self.field, options)
        return self.stage_totals is None or next_round <= self.stage_totals.rounds

    def end_round(self, matches: Iterable[PlayedMatch], byes: Sequence[str]) -> None:
        """A round is over."""
        self.rounds += 1
        if not self.is_fixed:
            self.results.append(PlayedRound(list(matches), byes))

    def replace(self, round_id: int, place: int, match: PlayedMatch) -> None:
        """The organiser ruled on a match of a round that is over."""
        if round_id <= len(self.results):
            changed = list(self.results[round_id - 1].matches)
            changed[place] = match
            self.results[round_id - 1] = self.results[round_id - 1]._replace(matches=changed)
            self._counted = {}

    def next_round(self, removed: Set[str]) -> Round | Done:
        """What the format says after the rounds that have ended; Done if its stage is over."""
        found = self.format.next_round(self.played(removed), self.field, self.options)
        if isinstance(found, Round):
            return found._replace(round_id=self.began + found.round_id)
        return found

    def next_stage(
        self, ranked: Sequence[str], removed: Set[str], latecomers: Sequence[str]
    ) -> NextStage | Done:
        """Who is in the stage after this one; Done if there is none, or too few are left."""
        if self.stage == len(self.stages):
            return Done()
        inside = {each.player_id for each in self.field}
        ranked = [each for each in ranked if each in inside and each not in removed]
        players = [*self.format.advancing(ranked, self.field, self.options), *latecomers]
        following, options = self._formats[self.stage], self._options[self.stage]
        try:
            following.begin([Entrant(each) for each in players], options)
        except ValueError:
            return Done()
        return NextStage(self.stage + 1, players)

    def planned(self, round_id: int) -> Round | None:
        """A round that does not depend on results, of a league whose only stage is fixed."""
        return self.format.planned(round_id, self.field, self.options)

    def merits(self, removed: Set[str] = frozenset()) -> dict[str, tuple[int, int]]:
        """What ranks the players before their points: the stage they reached, their merit in it.

        In a later stage of a format that knows no merits these are the points of that stage; in the
        first one there are none, since points alone rank.
        """
        if not self.stage:
            return {}
        played = self.played(removed)
        found = self.format.merits(played, self.field, self.options)
        if not found and self.stage == 1:
            return {}
        found = found or played.scores(self.field, self.bye_points())
        inside = [each.player_id for each in self.field]
        return self._merits | {each: (self.stage, found.get(each, 0)) for each in inside}

    def played(self, removed: Set[str]) -> Played:
        """What was played in the running stage."""
        rounds, results = self.rounds - self.began, self.results[self.began :]
        return Played(rounds, results, removed, self._points, self.is_time_up, self._counted)

    def begun(self, removed: Mapping[str, int]) -> list[Begun]:
        """All stages that have begun; who was removed, and from which round on, is in `removed`."""
        found: list[Begun] = []
        for number, (began, field) in enumerate(self._fields, start=1):
            end = self._fields[number][0] if number < self.stage else self.rounds
            is_last = number == self.stage
            gone = {each for each, since in removed.items() if is_last or since <= end}
            over = self.is_time_up or not is_last
            counted = self._counted if is_last else None
            played = Played(end - began, self.results[began:end], gone, self._points, over, counted)
            options = self._options[number - 1]
            found.append(Begun(number, self._formats[number - 1], options, field, began, played))
        return found

    def ending(self, removed: Set[str]) -> str:
        """Why the running stage, which is over, was not shorter or longer; empty: no word."""
        return self.format.ending(self.played(removed), self.field, self.options)

    def bye_points(self) -> int:
        """What a bye in the running stage is worth."""
        return self.format.bye_points(self._points, self.options)


def find_format(stage: Stage, known: Mapping[str, Format] = FORMATS) -> Format:
    """The format of a stage. Raises Damaged if there is none of that name and version here."""
    found = known.get(stage.format)
    if found is None or found.version != stage.version:
        raise Damaged(
            f"the league has the format {stage.format!r} version {stage.version}, which is not "
            "known here"
        )
    try:
        _stage({"format": stage.format, **stage.options}, 1, known)
    except ValueError as error:
        raise Damaged(f"the league has stages that cannot be: {error}") from None
    return found


def _completed(of: tuple[Format, Stage]) -> Options:
    """All options of a stage; a journal may be older than some of them."""
    found, stage = of
    return {name: option.default for name, option in found.options.items()} | stage.options


def usual_stages(cycles: int) -> list[Stage]:
    """Those of a league whose journal names none: one round robin."""
    usual = {name: option.default for name, option in ROUND_ROBIN.options.items()}
    return [Stage(ROUND_ROBIN.name, ROUND_ROBIN.version, {**usual, "cycles": cycles})]


def plan(
    asked: Sequence[Mapping[str, Any]], cycles: int = 1, known: Mapping[str, Format] = FORMATS
) -> list[Stage]:
    """The stages as asked for, each a table with `format` and options, with all their options.

    Raises ValueError, with a sentence that says what would be right, for a format or an option that
    there is not. `cycles` are those of round robins that do not say how many.
    """
    if len(asked) == 1 and (following := FOLLOWED_BY.get(str(asked[0].get("format")))):
        asked = [*asked, {"format": following}]
    if len(asked) > STAGES_MAX:
        raise ValueError(f"there are {len(asked):,} stages, and {STAGES_MAX} at most")
    stages = []
    for number, each in enumerate(asked, start=1):
        try:
            stages.append(_stage(dict(each), cycles, known))
        except ValueError as error:
            where = f"stage {number}: " if len(asked) > 1 else ""
            raise ValueError(f"{where}{error}") from None
    return stages


def planned_by(settings: ManagerSettings, known: Mapping[str, Format] = FORMATS) -> list[Stage]:
    """The stages that settings ask for. Raises ValueError as `plan` does."""
    if settings.stages and (settings.format != "round_robin" or settings.format_options):
        raise ValueError("stages and format are both given; put the format into the stages")
    if "format" in settings.format_options:
        raise ValueError("the options of a format do not name one; that is the setting `format`")
    asked = settings.stages or [{"format": settings.format, **settings.format_options}]
    return plan(asked, settings.cycles, known)


def usual_tie_breaks(stages: Sequence[Stage], known: Mapping[str, Format] = FORMATS) -> list[str]:
    """Those of a league that names none: of all its stages in their order, each once."""
    breaks = (name for stage in stages for name in find_format(stage, known).tie_breaks)
    return list(dict.fromkeys(breaks))


def find_known(name: str, known: Mapping[str, Format] = FORMATS) -> Format:
    """The format of this name. Raises ValueError if there is none."""
    if name not in known:
        near = nearest(name, known)
        hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(known)}"
        raise ValueError(f"there is no format {name[:60]!r}{hint}")
    return known[name]


def _stage(options: dict[str, Any], cycles: int, known: Mapping[str, Format]) -> Stage:
    if "format" not in options:
        raise ValueError(f"it names no format; write format = one of {', '.join(known)}")
    found = find_known(name := str(options.pop("format")), known)
    for option in options:
        if option not in found.options:
            if option in _SETTINGS:
                raise ValueError(
                    f"{option!r} is a setting of the league, not an option of {name}; in a file it "
                    "stands above the first line in brackets"
                )
            near = nearest(option, found.options)
            hint = f"did you mean {near!r}? It" if near else "it"
            raise ValueError(
                f"the format {name} has no option {option[:60]!r}; {hint} has "
                f"{', '.join(found.options)}"
            )
    if found is ROUND_ROBIN:
        options.setdefault("cycles", cycles)
    values = {option: _value(found, option, options) for option in found.options}
    return Stage(found.name, found.version, values)


def _value(found: Format, name: str, options: Mapping[str, Any]) -> int | str:
    option: Option = found.options[name]
    value: int | str = options.get(name, option.default)
    if option.choices:
        is_right, wanted = value in option.choices, f"one of {', '.join(option.choices)}"
    else:
        is_right = type(value) is int and option.least <= int(value) <= option.most
        wanted = f"a whole number from {option.least:,} to {option.most:,}"
    if not is_right:
        shown = str(value)[:60]
        raise ValueError(f"the option {name!r} of {found.name} must be {wanted}, not {shown!r}")
    return value


def misfit(
    stages: Sequence[Stage],
    players: int,
    known: Mapping[str, Format] = FORMATS,
    *,
    is_known: bool = True,
) -> str | None:
    """Why so many players cannot play these stages, if they cannot.

    What is too much for them is left to the stages unless it `is_known` how many come.
    """
    field = [f"P{n:02}" for n in range(1, players + 1)]
    for number, stage in enumerate(stages, start=1):
        found, entrants = find_format(stage, known), [Entrant(each) for each in field]
        try:
            found.begin(entrants, stage.options)
            for each in found.excess(len(field), stage.options) if is_known else ():
                raise ValueError(f"{each.fault}: lower {each.option}.")
            field = list(found.advancing(field, entrants, stage.options))
        except ValueError as error:
            where = f"stage {number} ({found.name}): " if len(stages) > 1 else ""
            return f"{where}{error}"
    return None


def seeded(
    players: Sequence[str], how: str, league_id: str, drawn: bytes, elo: Mapping[str, int]
) -> list[str]:
    """The players by seed, from the order in which they registered."""
    if how == "random":
        return draws.shuffled(drawn, league_id, players)
    if how == "rating":
        return sorted(players, key=lambda each: -elo.get(each, ELO))
    return list(players)
