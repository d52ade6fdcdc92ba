"""A decided match once more, step by step: the moves and numbers of each turn, and the board."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentleague.errors import LeagueError
from agentleague.games.game import Game, Picture, picture_of
from agentleague.protocol import draws
from agentleague.protocol.printable import one_line, one_line_json, printable
from agentleague.records.match_check import bytes_of
from agentleague.records.match_story import Facts, Result, read

NOTE_MAX = 500  # characters of how a match ended
LAST_ALONE = "its referee reported the last moves alone"
Moves = list[tuple[int, str, Any]]  # turn, player, move


class Step(Struct, frozen=True):
    """The moves of one turn by player, the number drawn for it, and the picture after it."""

    turn: int  # from 1; 0 is the start
    moves: dict[str, Any]
    number: int | None
    picture: Picture | None  # None where the game does not draw itself
    note: str = ""  # of the last step: how the match ended, or why there are no more steps
    bounds: tuple[int, int] | None = None  # between which the number was drawn


def steps(game: Game, facts: Mapping[str, Any]) -> list[Step]:
    """A match by its facts (of `facts_of` or GET_MATCH); none before it is decided."""
    match = read(facts)
    if match.result is None:
        return []
    made: list[Step] = []
    note = match.result.reason
    try:
        for step in _played(game, match, match.result):
            made.append(step)
    except LeagueError as error:
        note = f"No more is known: {error}. The result: {note}"
    except Exception as error:  # The game is a plug-in, and the moves are the players'.
        note = f"No more is known: the game failed ({type(error).__name__}). The result: {note}"
    return [*made[:-1], replace(made[-1], note=note)] if made else []


def board(played: Sequence[Step]) -> list[str]:
    """The lines of the last picture; none where nothing was played, or nothing is drawn."""
    last = played[-1].picture if played else None
    return last.text.split("\n") if last and last != played[0].picture else []


def in_words(facts: Mapping[str, Any], played: Sequence[Step]) -> Iterator[str]:
    """Each step for a terminal: who moved what, and the board after it."""
    name = read(facts).name
    for step in played:
        moves = [f"{name(each)}: {one_line_json(move)}" for each, move in step.moves.items()]
        drawn = [] if step.number is None else [f"the number {step.number} was drawn"]
        said = ", ".join([*moves, *drawn]) or "no move"
        lines = [f"Turn {step.turn}  {said}" if step.turn else "Start"]
        lines += [f"  {line}" for line in (step.picture.text.split("\n") if step.picture else ())]
        lines += [one_line(step.note, NOTE_MAX)] if step.note else []
        yield "\n".join(map(printable, lines))


def _played(game: Game, match: Facts, result: Result) -> Iterator[Step]:
    state = game.start(match.game_options)
    yield Step(0, {}, None, picture_of(game, state))
    seats = dict(zip((match.player_A_id, match.player_B_id), game.seats, strict=True))
    moves, index = _moves(match, result), -1
    for turn in range(moves[-1][0] + 1 if moves else 0):
        made = {player_id: move for when, player_id, move in moves if when == turn}
        if not made:
            raise LeagueError(f"turn {turn + 1} has no moves")
        to_move, bounds, number = game.to_move(state), game.chance(state), None
        for player_id, move in made.items():
            if seats.get(player_id) not in to_move:
                raise LeagueError(f"{player_id} was not to move" if match.verified else LAST_ALONE)
            game.check(state, seats[player_id], move)
        if len(made) < len(to_move):  # The others forfeited.
            yield Step(turn + 1, made, None, picture_of(game, state))
            return
        if bounds:
            index += 1
            number = _number(match, [move for move in moves if move[0] <= turn], index, bounds)
        state = game.play(state, {seats[each]: move for each, move in made.items()}, number)
        if not match.verified and game.outcome(state) is None:
            raise LeagueError(LAST_ALONE)
        yield Step(turn + 1, made, number, picture_of(game, state), bounds=bounds)


def _moves(match: Facts, result: Result) -> Moves:
    if match.verified:
        if match.draw is None or match.draw.moves is None:
            raise LeagueError("its moves are too long for an answer; read its journal with --dir")
        return match.draw.moves
    # Of a foreign referee only the last choices are known: all there is if one turn decides.
    chosen = result.choices or {}
    players = (match.player_A_id, match.player_B_id)
    return [(0, each, chosen[each]) for each in players if chosen.get(each) is not None]


def _number(match: Facts, moves: Moves, index: int, bounds: tuple[int, int]) -> int:
    if match.verified and match.draw and match.league_id:
        seed, league_id = bytes_of(match.draw.seed), match.league_id
        return draws.number(
            seed, league_id, match.match_id, index=index, moves=moves, bounds=bounds
        )
    number = match.result.drawn_number if match.result else None
    if number is None or not bounds[0] <= number <= bounds[1]:
        raise LeagueError("the number that was drawn is not known")
    return number
