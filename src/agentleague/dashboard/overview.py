"""The overview: how the league stands, who is waited for, who leads, what just happened."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice, takewhile
from typing import Any

from agentleague.dashboard import paging, standings
from agentleague.dashboard.league_view import Happening, LeagueView
from agentleague.dashboard.schedule import match_row
from agentleague.league.league import Phase
from agentleague.protocol.messages import GameResult
from agentleague.protocol.printable import counted
from agentleague.runtime.clock import wall

TOP = 8
RUNNING = 8
HAPPENINGS = 12
LINES = 8  # in the plot
NAMED = ("player_registered", "referee_registered", "league_opened")  # their sentences have names
AGENT_ID = re.compile(r"\b(?:P|REF)\d{2,}\b")
AWAITED = re.compile(
    r"(?P<player_id>\S+) '(?P<name>.*)' to (?P<what>[^']+) in (?P<match_id>R\d+M\d+): "
    r"(?P<seconds>\d+) s for attempt (?P<attempt>\d+) of (?P<attempts>\d+), "
    r"(?P<longest>\d+) s in all"
)


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the first page shows."""
    league, rows = view.league, view.league.table.rows()
    is_over = league.phase is Phase.COMPLETED
    waiting = [] if is_over else [awaited(each) for each in view.live.get("awaited_answers", ())]
    running = [] if is_over else _running(view, waiting)
    shown = [row for row in reversed(view.happenings) if row.kind != "match_assigned"]
    turn = {"page": "standings" if rows else "overview", "projector": "1" if rows else ""}
    return {
        "phase": str(league.phase),
        "verdict": verdict(view),
        "needs": _needs(view),
        "began": view.round_began[0] if view.round_began else "",
        "round": league.round_id,
        "rounds": league.total_rounds,
        "decided": league.decided_total,
        "matches": league.total_matches,
        "matches_a_second": 0 if is_over else round(view.rate(wall()), 1),
        "waiting": waiting,
        "not_reported": [] if is_over else [*view.live.get("awaited_reports", ())],
        "joined": [] if league.has_started else _joined(view),
        "rows": standings.described(view, [*rows[:TOP]], standings.rounds_shown(view, 5)),
        "total": len(rows),
        "running": running[:RUNNING],
        "running_total": len(running),
        "happenings": [_told(view, each) for each in islice(shown, HAPPENINGS)],
        "series": points_by_round(view, [row.player_id for row in rows[:LINES]]),
        **({"projector": 1, "pages": 1, "turn": turn} if "projector" in params else {}),
    }


def verdict(view: LeagueView) -> str:
    """How the league stands, in one sentence."""
    league = view.league
    if not league.has_started and league.phase is not Phase.COMPLETED:
        return _registering(view)
    if league.phase is Phase.COMPLETED:
        return _champion(view)
    rows, now = league.table.rows(), standings.when(view).partition(" (")[0]  # Above is the stage.
    if not league.decided_total:
        return f"{now[:1].upper()}{now[1:]}, and no match is decided yet"
    first, *others = takewhile(lambda row: row.rank == 1 or row.tie_break == "player_id", rows)
    points = counted(first.points, "point")
    if len(others) > 1:
        return f"{len(others) + 1} players share the lead with {points} {now}"
    if others:
        names = f"{first.display_name} and {others[0].display_name}"
        return f"{names} share the lead with {points} {now}"
    second = rows[1]
    reached = league.reached.get(first.player_id)
    if reached and reached.why:
        by = "" if reached.place.lower() in now else f": {reached.why}"
        return f"{first.display_name} leads with {points} {now}{by}"
    if second.points < first.points:
        ahead = counted(first.points - second.points, "point")
        return f"{first.display_name} leads {second.display_name} by {ahead} {now}"
    by = (second.tie_break or "").replace("_", "-")
    return f"{first.display_name} leads {second.display_name} by {by}, level on {points}, {now}"


def _registering(view: LeagueView) -> str:
    joined, live = view.league.players_total, view.live
    if live.get("starts_at"):
        return f"Starts at {live['starts_at']}; {counted(joined, 'player')} joined"
    missing = live.get("players_wanted", 0) - joined
    if missing > 0:
        return f"Waiting for {missing} more {'player' if missing == 1 else 'players'}"
    referees = live.get("referees_wanted", 1) - view.league.roster.referees_total
    if referees > 0 and joined:
        return f"Waiting for {counted(referees, 'referee')}"
    return f"{counted(joined, 'player')} joined" if joined else "Nobody has joined yet"


def _needs(view: LeagueView) -> list[tuple[str, str]]:
    """Before the start: what to type, and what for."""
    league = view.league
    if league.has_started or league.phase is Phase.COMPLETED:
        return []
    has_code = league.opened and league.rules.has_join_code is True
    where = f"--manager {league.manager_url or 'URL'}{view.game_option}"
    needs = [
        ("Write a player:", "league new player my_player"),
        # Not as an option, which everybody on that machine may see.
        *([("Set the join code:", "export LEAGUE_JOIN_CODE=CODE")] if has_code else []),
        ("Let it join:", f"league player my_player/my_player.py {where}"),
    ]
    if view.live.get("referees_wanted", 1) > league.roster.referees_total:
        needs.append(("Bring a referee:", f"league referee {where}"))
    return [*needs, ("Begin with those who are here:", f"league start --dir {view.directory}")]


def _champion(view: LeagueView) -> str:
    league = view.league
    if not league.champion:
        return "The league ended before a match was decided"
    row, level = league.table.row(league.champion), len(league.champions())
    points = counted(row.points, "point")
    if league.aborted:
        return f"The organiser ended the league; {row.display_name} led with {points}"
    drawn = f", drawn by lot among {level} who are level" if level > 1 else ""
    reached = league.reached.get(row.player_id)
    won = f", {reached.why}" if reached and reached.why else ""
    return f"{row.display_name} is the champion with {points}{won}{drawn}"


def awaited(sentence: str) -> dict[str, Any]:
    """For whom a referee waits, from the manager's sentence; one of another form stays as it is."""
    found = AWAITED.fullmatch(sentence)
    if not found:
        return {"sentence": sentence, "match_id": ""}
    numbers = {key: int(found[key]) for key in ("seconds", "attempt", "attempts", "longest")}
    return found.groupdict() | numbers | {"sentence": sentence}


def _joined(view: LeagueView) -> list[dict[str, str]]:
    roster = view.league.roster
    players = (each for each in roster.players.values() if each.agent_id not in roster.removed)
    return [{"player_id": each.agent_id, "name": each.display_name} for each in players]


def _running(view: LeagueView, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    matches = view.league.matches
    slow = {each["match_id"] for each in waiting}
    ids = sorted(view.league.undecided, key=lambda m: (m not in slow, len(m), m))
    return [match_row(view, match_id, matches[match_id].players) for match_id in ids]


def _told(view: LeagueView, happening: Happening) -> dict[str, Any]:
    """A row for people: with names, and of a result what it means first."""
    sentence, why = happening.sentence, ""
    if happening.kind == "match_decided":
        record = view.league.matches[happening.match_id]
        assert record.decided
        sentence = _result(view, record.players, record.decided.result)
        why = paging.with_names(view, record.decided.result.reason or "", record.players)
    elif happening.kind not in NAMED:
        sentence = paging.with_names(view, sentence, AGENT_ID.findall(sentence))
    return happening._asdict() | {"sentence": sentence, "why": why}


def _result(view: LeagueView, players: tuple[str, str], result: GameResult) -> str:
    a, b = (view.name_of(player_id) for player_id in players)
    technical = " by technical loss" if result.status == "TECHNICAL_LOSS" else ""
    if result.no_contest is True:
        return f"{a} against {b} counts for neither"
    if result.winner_player_id is None:
        return f"{a} and {b} both lost{technical}" if technical else f"{a} and {b} drew"
    won, lost = (a, b) if result.winner_player_id == players[0] else (b, a)
    return f"{won} beat {lost}{technical}"


def points_by_round(view: LeagueView, player_ids: Iterable[str]) -> list[dict[str, Any]]:
    """The points of these players after each round, for the plot."""
    return [
        {
            "player_id": each,
            "name": view.name_of(each),
            "points": [after.get(each, (0, 0))[0] for after in view.points],
        }
        for each in player_ids
    ]
