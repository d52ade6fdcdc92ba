"""The stages of a league as they are shown: a bracket, a table by rounds, groups, or a ladder.

All of it is plain JSON, made here alone for the terminal, the pages and the report.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import msgspec

from agentleague.league.formats import stage_words
from agentleague.league.formats.format import PlayedMatch, PlayedRound
from agentleague.league.formats.groups import GROUPS, groups_of
from agentleague.league.formats.knockout import BracketRound, Tie, bracket
from agentleague.league.formats.ladder import elos
from agentleague.league.formats.stages import Begun
from agentleague.league.league import League, Phase, as_played
from agentleague.league.standings import Standing, Table

Row = dict[str, Any]
Cells = list[dict[str, Row]]  # by round: player -> how its match went
ROUNDS_SHOWN = 20  # of a table: the last ones
ELOS_SHOWN = 50  # likewise, of a rating's course
OF_OPPONENTS = ("buchholz", "sonneborn_berger")  # tie-breaks that no other column shows
MERITS = ("reached", "elo", *OF_OPPONENTS)  # what rows of the table may have beside points
_BYE, _ABSENT = {"outcome": "bye"}, {"outcome": "absent"}


def round_in_words(league: League, round_id: int | None = None) -> str:
    """The round that runs, or another one of its stage: `round 3 of 9`."""
    number = league.round_id if round_id is None else round_id
    if not league.has_started or league.phase is Phase.COMPLETED:
        return f"round {number} of {league.total_rounds}"
    return stage_words.round_in_words(league.progress, number, league.roster.removed)


def standing_rows(league: League, rows: Iterable[Standing]) -> list[Row]:
    """Rows of the table as JSON, each with what ranks it before and after its points."""
    found = [dict(msgspec.to_builtins(row)) for row in rows]
    if not found:
        return []
    more, came = merits_in_words(league), notes(league)
    tie_breaks = [each for each in OF_OPPONENTS if each in league.rules.tie_breaks]
    for row in found:
        row |= more.get(row["player_id"], {})
        if row["player_id"] in came:
            row["note"] = came[row["player_id"]]
        if points := league.table.bye_points(row["player_id"]):
            row["bye_points"] = points
        if tie_breaks:
            values = league.table.tie_breaks_of(row["player_id"])
            row |= {name: values[name] for name in tie_breaks if name in values}
    return found


def notes(league: League, up_to: int | None = None) -> dict[str, str]:
    """By player: from which round on it was there, and after which one it was removed."""
    found: dict[str, list[str]] = {}
    if not league.has_started:
        return {}
    seen: set[str] = set()
    for begun in league.progress.begun(league.roster.removed):
        for each in begun.field:
            first = begun.began + each.from_round
            if first > 1 and each.player_id not in seen:
                by_cycle = f"from the cycle after round {first - 1}"
                is_cycle = begun.format.late == "cycle" and each.from_round > 1
                found[each.player_id] = [by_cycle if is_cycle else f"from round {first}"]
            seen.add(each.player_id)
    for player_id, since in league.roster.removed.items():
        if player_id in seen and (up_to is None or since <= up_to + 1):
            after = f"after round {since - 1}" if since > 1 else "before round 1"
            found.setdefault(player_id, []).append(f"removed {after}")
    return {player_id: ", ".join(words) for player_id, words in found.items()}


def merits_in_words(league: League) -> dict[str, Row]:
    """How far each player came, or its rating; empty where points alone rank."""
    has_places = any(each.elo is None for each in league.reached.values())
    return {
        player_id: ({"reached": each.place} if has_places else {})
        | ({} if each.elo is None else {"elo": each.elo})
        for player_id, each in league.reached.items()
    }


def stages(league: League) -> list[Row]:
    """All stages, also those to come."""
    begun = league.progress.stage
    return [
        {
            "stage": number,
            "format": stage.format,
            "title": title,
            "state": "to come" if number > begun else "over" if number < begun else _state(league),
        }
        for number, (stage, title) in enumerate(
            zip(league.stages, stage_words.titles(league.stages), strict=True), start=1
        )
    ]


def _state(league: League) -> str:
    return "over" if league.phase is Phase.COMPLETED else "running"


def tab(league: League) -> Row | None:
    """Which stage to look at, and what people call that; none where a table says it all."""
    if [each.format for each in league.stages] == ["round_robin"]:
        return None
    number = shown_stage(league, None)
    about = stages(league)[number - 1]
    words = {"knockout": "Bracket", "round_robin": "Rounds"}.get(about["format"], about["title"])
    return {"stage": number, "words": words}


def shown_stage(league: League, typed: str | int | None) -> int:
    """The number of a stage that was asked for; the running one if none was, 0 for a wrong one."""
    if typed is None:
        return max(1, league.progress.stage)
    number = int(typed) if str(typed).isdecimal() and len(str(typed)) < 6 else 0
    return number if number <= len(league.stages) else 0


def stage_rows(league: League, stage: int) -> list[Row]:
    """A row for each tie of a bracket, else for each player by rank; none before it begins."""
    begun = league.progress.begun(league.roster.removed)
    if stage > len(begun):
        return []
    return _ROWS.get(begun[stage - 1].format.name, _by_round)(league, begun[stage - 1])


def rounds_of(league: League, stage: int) -> list[int]:
    """The rounds of a stage that its table shows: the last ones."""
    begun = league.progress.begun(league.roster.removed)
    if stage > len(begun) or league.is_fixed:
        return []
    began, is_last = begun[stage - 1].began, stage == len(begun)
    last = league.round_id if is_last else began + begun[stage - 1].played.rounds
    return [*range(max(began, last - ROUNDS_SHOWN) + 1, last + 1)]


def _cells(league: League, stage: int) -> Cells:
    return [_of_round(league, each) for each in rounds_of(league, stage)]


def _of_round(league: League, round_id: int) -> dict[str, Row]:
    cells: dict[str, Row] = dict.fromkeys(league.byes.get(round_id, ()), _BYE)
    undecided = _undecided(league)
    for number, match in enumerate(_matches(league, round_id), start=1):
        match_id = f"R{round_id}M{number}"
        for player_id, opponent_id in (match.players, match.players[::-1]):
            cells[player_id] = {
                "outcome": "live" if match_id in undecided else outcome(match, player_id),
                **{"match_id": match_id, "opponent_id": opponent_id},
            }
    return cells


def _matches(league: League, round_id: int) -> Sequence[PlayedMatch]:
    """The matches of a round; those that have no result yet count for nobody."""
    results = league.progress.results
    if round_id <= len(results):
        return results[round_id - 1].matches
    return [
        as_played(each) if each.decided else PlayedMatch(each.players, None, counts=False)
        for each in league.matches.of_round(round_id)
    ]


def _undecided(league: League) -> Set[str]:
    return {each for each in league.open_matches if not league.matches[each].decided}


def outcome(match: PlayedMatch, player_id: str) -> str:
    """How a match went for one of its players, in a word."""
    if not match.counts:
        return "void"
    if match.winner == player_id:
        return "won"
    if match.technical:
        return "forfeited"
    return "lost" if match.winner else "drawn"


def _table(league: League, begun: Begun) -> Table:
    """The league's table at the end of a stage, as it stands now."""
    if begun.stage == league.progress.stage:
        return league.table
    table = league.new_table()
    merits = begun.format.merits(begun.played, begun.field, begun.options)
    if begun.stage > 1:
        merits = merits or begun.scores()
    table.rank_by({player_id: (begun.stage, merit) for player_id, merit in merits.items()})
    for each in league.progress.begun(league.roster.removed)[: begun.stage]:
        worth = each.format.bye_points(each.played.points, each.options)
        for of_round in each.played.results:
            for match in filter(lambda match: match.counts, of_round.matches):
                table.count(*match.players, winner=match.winner, technical=match.technical)
            table.count_byes(of_round.byes, worth)
    return table


def _ranked(league: League, begun: Begun) -> list[Row]:
    """The players of a stage by rank among themselves, with what they did in it."""
    inside, table = {each.player_id for each in begun.field}, _table(league, begun)
    stages = league.progress.begun(league.roster.removed)
    before = _table(league, stages[begun.stage - 2]) if begun.stage > 1 else league.new_table()
    rows = [row for row in table.rows() if row.player_id in inside]
    is_last = begun.stage == league.progress.stage
    came = notes(league, None if is_last else begun.began + begun.played.rounds)
    places: dict[int, int] = {}
    for place, row in enumerate(rows, start=1):
        places.setdefault(row.rank, place)
    return [
        {
            "rank": places[row.rank],
            "player_id": row.player_id,
            "name": row.display_name,
            **_counts(table, before, row.player_id),
            "note": came.get(row.player_id, ""),
            "tie_breaks": table.tie_breaks_of(row.player_id),
        }
        for row in rows
    ]


def _counts(table: Table, before: Table, player_id: str) -> Row:
    so_far, then = table.record(player_id), before.record(player_id)
    won, lost, drawn, points = (now - was for now, was in zip(so_far, then, strict=True))
    return {
        **{"played": won + drawn + lost, "won": won, "drawn": drawn, "lost": lost},
        **{"points": points},
        "bye_points": table.bye_points(player_id) - before.bye_points(player_id),
    }


def _by_round(league: League, begun: Begun) -> list[Row]:
    cells = _cells(league, begun.stage)
    rows = [
        row | {"cells": [each.get(row["player_id"], _ABSENT) for each in cells]}
        for row in _ranked(league, begun)
    ]
    if begun.format is not GROUPS:
        _mark(league, begun, rows)
    return rows


def _mark(league: League, begun: Begun, rows: Sequence[Row]) -> None:
    """Who goes on to the next stage, or would if it ended now; and by what, at equal points."""
    goers = _goers(league, begun, rows)
    for row in rows:
        row |= {"goes_on": row["player_id"] in goers, "by": ""}
    removed = begun.played.removed
    order = [row for row in rows if row["goes_on"] or row["player_id"] not in removed]
    last = sum(row["goes_on"] for row in order)
    if not 0 < last < len(order) or not all(row["goes_on"] for row in order[:last]):
        return
    table, edge = _table(league, begun), (order[last - 1], order[last])
    decided = table.between(edge[0]["player_id"], edge[1]["player_id"])
    for row in order if decided else ():
        is_level = decided == table.between(edge[0]["player_id"], row["player_id"]) == "id"
        row["by"] = decided if row in edge or is_level else ""


def _goers(league: League, begun: Begun, rows: Sequence[Row]) -> Set[str]:
    if begun.stage == len(league.stages):
        return frozenset()
    after = league.progress.begun(league.roster.removed)[begun.stage :]
    if after:
        return {each.player_id for each in after[0].field}
    ranked = [row["player_id"] for row in rows if row["player_id"] not in begun.played.removed]
    return {*begun.format.advancing(ranked, begun.field, begun.options)}


def _in_groups(league: League, begun: Begun) -> list[Row]:
    rows: list[Row] = []
    ranked = {row["player_id"]: row for row in _by_round(league, begun)}
    for number, group in enumerate(groups_of(begun.field, begun.options)):
        ids = {each.player_id for each in group}
        places = [row for player_id, row in ranked.items() if player_id in ids]
        _mark(league, begun, places)
        for place, row in enumerate(places, start=1):
            rows.append(row | {"group": letters(number), "rank": place})
    return rows


def letters(number: int) -> str:
    """A, B, … Z, AA: the name of a group, counted from 0."""
    before, rest = divmod(number, 26)
    return (letters(before - 1) if before else "") + chr(ord("A") + rest)


def _in_ladder(league: League, begun: Begun) -> list[Row]:
    course = elos(begun.played, begun.field, begun.options)
    rows = _by_round(league, begun)
    for row in rows:
        so_far = course[row["player_id"]]
        change = so_far[-1] - so_far[-2] if len(so_far) > 1 else 0
        row |= {"elo": so_far[-1], "change": change, "elos": [*so_far[-ELOS_SHOWN:]]}
    return rows


def _in_bracket(league: League, begun: Begun) -> list[Row]:
    """Tie by tie, with the results of the running round."""
    played, undecided = begun.played, _undecided(league)
    if begun.stage == league.progress.stage and league.round_id > league.rounds_ended:
        running = PlayedRound(_matches(league, league.round_id), league.byes[league.round_id])
        played = played._replace(results=[*played.results, running])
    rounds = bracket(played, begun.field, begun.options, begun.began, undecided)
    return [
        {
            **{"level": level, "round": name, "tie": number},
            "players": list(tie.players),
            "names": [
                league.names_of([player])[player] if player else _empty(rounds, level, place)
                for place, player in enumerate(tie.players, start=2 * number - 2)
            ],
            **{"seeds": list(tie.seeds), "wins": list(tie.wins), "matches": list(tie.match_ids)},
            "is_live": not undecided.isdisjoint(tie.match_ids),
            **{"is_over": tie.is_over, "winner": tie.winner, "by": _tie_decided(begun, name, tie)},
        }
        for level, (name, ties) in enumerate(rounds)
        for number, tie in enumerate(ties, start=1)
    ]


def _tie_decided(begun: Begun, name: str, tie: Tie) -> str:
    """What decided a tie that was played, where games did not: the `seed` or a `removal`."""
    if not tie.winner or not tie.match_ids or None in tie.players:
        return ""
    place = tie.players.index(tie.winner) if tie.winner in tie.players else 0
    best_of, loser = begun.options["best_of"], tie.players[1 - place]
    is_level = tie.wins[0] == tie.wins[1]
    if is_level and len(tie.match_ids) >= best_of + begun.options["replays"]:
        return "seed"
    if loser in begun.played.removed and 2 * tie.wins[place] <= best_of:
        return "removal"
    return "seed" if is_level and name == "Final" else ""


def _empty(rounds: Sequence[BracketRound], level: int, place: int) -> str:
    """What stands in a place of a bracket, counted from 0, in which nobody is."""
    if not level:
        return "bye"
    is_third = len(rounds[level - 1].ties) == 1
    name, ties = rounds[level - 2 if is_third else level - 1]
    if ties[place].is_over:
        return "nobody"
    from_there = f"{name.removesuffix('s').lower()} {place + 1}"
    return f"{'loser' if is_third else 'winner'} of {from_there}"


_ROWS: Mapping[str, Callable[[League, Begun], list[Row]]] = {
    **{"knockout": _in_bracket, "groups": _in_groups, "ladder": _in_ladder}
}
