"""A league that is resumed keeps its rules: the command must ask for what was journalled."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from msgspec.structs import asdict

from agentleague.errors import Damaged, StorageError
from agentleague.league.events import LeagueOpened, read_event
from agentleague.roles.ports import Row
from agentleague.roles.settings import ManagerSettings


def same_league(
    settings: ManagerSettings, league_id: str, rows: Iterator[Row], directory: str
) -> ManagerSettings:
    """The settings with the id of the league that is there.

    Raises:
        StorageError: they differ from the rules it was begun with; the sentence names the first.
    """
    first = next(rows)
    opened = read_event(first.kind, first.version, first.body)
    if not isinstance(opened, LeagueOpened):
        raise Damaged(f"the journal of {league_id} begins with {first.kind!r}, not with its rules")
    if opened.has_join_code and not settings.join_code:
        raise StorageError(
            f"{league_id} was begun with a join code, and now there is none; give it with "
            "LEAGUE_JOIN_CODE, in the file of settings, or with --join-code"
        )
    wanted = {
        "game_type": settings.game_type,
        "cycles": settings.cycles,
        "points": (settings.win_points, settings.draw_points, settings.loss_points),
        "tie_breaks": list(settings.tie_breaks),
        "seeded": settings.seeded,
        **asdict(settings.rules),
    }
    begun = {**asdict(opened), **asdict(opened.rules)}
    for name, value in wanted.items():
        if begun[name] != value:
            raise StorageError(
                f"{league_id} was begun with {name} = {begun[name]!r}, and now it is {value!r}; "
                f"start it with the same rules, or {_instead(rows, directory)}"
            )
    return replace(settings, league_id=league_id)


def _instead(rows: Iterator[Row], directory: str) -> str:
    """How to play by the other rules; a league in which nobody is yet may be thrown away."""
    if any(row.kind == "player_registered" for row in rows):
        return "begin another league with: --dir ANOTHER"
    return (
        "let it begin anew, since no player has registered yet: remove it with: rm -r "
        f"{shlex.quote(directory)} and then type the same again"
    )
