"""A decided match once more, step by step: the moves and numbers of each turn, and the board."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentleague.errors import LeagueError
from agentleague.games.game import Game, Picture, picture_of
from agentleague.protocol import draws
from agentleague.records.match_check import bytes_of
from agentleague.records.match_story import Facts, Result, read

Moves = list[tuple[int, str, Any]]  # turn, player, move


class Step(Struct, frozen=True):
    """The moves of one turn by player, the number drawn for it, and the picture after it."""

    turn: int  # from 1; 0 is the start
    moves: dict[str, Any]
    number: int | None
    picture: Picture | None  # None where the game does not draw itself
    note: str = ""  # of the last step: how the match ended, or why there are no more steps


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


def _played(game: Game, match: Facts, result: Result) -> Iterator[Step]:
    state = game.start(match.game_options)
    yield Step(0, {}, None, picture_of(game, state))
    seats = dict(zip((match.player_A_id, match.player_B_id), game.seats, strict=True))
    moves, index = _moves(match, result), -1
    for turn in range(moves[-1][0] + 1 if moves else 0):
        made = {player_id: move for when, player_id, move in moves if when == turn}
        to_move, bounds, number = game.to_move(state), game.chance(state), None
        for player_id, move in made.items():
            if seats.get(player_id) not in to_move:
                raise LeagueError(f"{player_id} was not to move")
            game.check(state, seats[player_id], move)
        if len(made) < len(to_move):  # The others forfeited.
            yield Step(turn + 1, made, None, picture_of(game, state))
            return
        if bounds:
            index += 1
            number = _number(match, [move for move in moves if move[0] <= turn], index, bounds)
        state = game.play(state, {seats[each]: move for each, move in made.items()}, number)
        if not match.verified and game.outcome(state) is None:
            raise LeagueError("its referee did not report all moves")
        yield Step(turn + 1, made, number, picture_of(game, state))


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
