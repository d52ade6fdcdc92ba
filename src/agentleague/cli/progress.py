"""How far a league is, said on stderr while it goes on: a live table on a terminal, else lines."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentleague.cli.output import QUIET, is_given, is_plain, say, shown

if TYPE_CHECKING:
    from agentleague.cli.live_table import LiveTable
    from agentleague.league.league import League
    from agentleague.runtime.host import Host

Facts = Mapping[str, Any]  # the answer to GET_STATUS, or a row of that to GET_STANDINGS
LINES_MAX = 10  # of rounds, where stderr is not a terminal; as many about waiting
REFRESH_SECONDS = 0.25  # between two looks at a league of this process
COMPLETED = "LEAGUE_COMPLETED"


class Progress:
    """Shows on stderr how a league goes; whatever else is written there appears above it."""

    def __init__(self, above: int = 2, *, lines_max: int = LINES_MAX) -> None:
        """On a terminal `above` lines stay free, elsewhere at most so many lines are printed."""
        is_utf = (getattr(sys.stderr, "encoding", None) or "").lower().startswith("utf")
        self.is_live = is_utf and not is_plain(sys.stderr)
        self._above, self._lines_max, self._is_quiet = above, lines_max, is_given(QUIET)
        self._live: LiveTable | None = None
        self._due = 0.0
        self._rounds_printed = 0
        self._waits_printed: set[str] = set()
        self._losses: dict[str, int] = {}

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __call__(self, league: "League", awaited: Sequence[str] = (), **more: Any) -> None:
        """Show a league of this process, and what only its manager knows."""
        from agentleague.league import queries
        from agentleague.league.stage_views import standing_rows

        now = asyncio.get_running_loop().time()
        if not self._is_quiet and (not self.is_live or now >= self._due):
            self._due = now + REFRESH_SECONDS
            status = queries.answer(league, "GET_STATUS", {}, None)
            is_shown = self.is_live and league.has_started
            rows = standing_rows(league, league.table.rows()) if is_shown else ()
            self.show({**status, "awaited_answers": awaited, **more}, rows)

    def follow(self, host: "Host", verbose: int, **more: Any) -> None:
        """Show the league of a manager of this process on a terminal, until it is over."""
        if self.is_live and verbose <= 1:  # Else it would be redrawn for every message.
            self._following = asyncio.ensure_future(self._follow(host, **more))

    async def _follow(self, host: "Host", **more: Any) -> None:
        role: Any = host.role
        with self:  # Also after an error: what is said must be seen.
            while role.league.phase != COMPLETED and not self._is_quiet:
                awaited = role.awaited_answers(asyncio.get_running_loop().time())
                self(role.league, awaited, **more, journal=host.disk)
                await asyncio.sleep(REFRESH_SECONDS)

    def show(self, status: Facts, rows: Sequence[Facts]) -> None:
        """Show these facts, or say what is new in them."""
        if self._is_quiet:
            return
        if not self.is_live:
            for sentence in self._news(status, rows):
                say(sentence)
            return
        if self._live is None:
            from agentleague.cli.live_table import LiveTable

            self._live = LiveTable(self._above)
        self._live.show(status, rows, asyncio.get_running_loop().time())

    def stop(self) -> None:
        """Leave the terminal as it was, and show nothing more."""
        self._is_quiet = True
        if self._live:
            self._live.stop()
            self._live = None

    def _news(self, status: Facts, rows: Sequence[Facts]) -> Iterator[str]:
        yield from self._round(status, rows)
        for row in rows:
            lost, before = number(row, "technical_losses"), self._losses.get(row["player_id"], 0)
            self._losses[row["player_id"]] = lost
            if lost > before:
                yield f"{named(row)} lost without a game, {lost} of {number(row, 'played')} so far."
        for words in waits(status):
            whom = words.rpartition(": ")[0]  # What follows changes.
            if whom not in self._waits_printed and len(self._waits_printed) < self._lines_max:
                self._waits_printed.add(whom)
                yield f"{words}."

    def _round(self, status: Facts, rows: Sequence[Facts]) -> Iterator[str]:
        if "evidence" in status:  # Somebody else says how it goes, and nobody knows how long.
            return
        ended, rounds = number(status, "rounds_completed"), number(status, "total_rounds")
        step = max(1, rounds // self._lines_max)
        self._rounds_printed = min(self._rounds_printed, ended)
        is_last = ended == rounds > self._rounds_printed
        if is_last or ended >= self._rounds_printed + step:
            self._rounds_printed = ended
            leads = f"; {named(rows[0])} leads with {rows[0].get('points')} points" if rows else ""
            of_all = f" of {rounds}" if status.get("is_length_known", True) else ""
            yield f"Round {ended}{of_all} is over{leads}."  # Of the next, some may be decided.


def number(facts: Facts, field: str) -> int:
    """A number of an answer; 0 where a foreign manager says nothing, or something else."""
    value = facts.get(field)
    return value if isinstance(value, int) else 0


def matches(status: Facts) -> str:
    """`3 of 6 matches`; so far, where nobody knows how many there will be."""
    so_far = "" if status.get("is_length_known", True) else " so far"
    done, total = number(status, "matches_completed"), number(status, "total_matches")
    return f"{done} of {total} matches{so_far}"


def round_in_words(status: Facts) -> str:
    """`Round 3 of 9`, and what else a manager says of it."""
    words = status.get("round_in_words")
    if not isinstance(words, str):
        words = f"round {number(status, 'current_round')} of {number(status, 'total_rounds')}"
    return shown(words[:1].upper() + words[1:])


def named(row: Facts) -> str:
    """A player of the table."""
    return shown(f"{row.get('player_id')} {row.get('display_name')}")


def waits(status: Facts) -> list[str]:
    """Who is waited for, and how long still."""
    answers = (f"Waiting for {words}" for words in status.get("awaited_answers") or ())
    reports = (f"Not reported yet: {words}" for words in status.get("awaited_reports") or ())
    return [shown(words) for words in (*answers, *reports)]
