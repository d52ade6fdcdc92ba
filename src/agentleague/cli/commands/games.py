"""`league games`: the games that are installed."""

import json
from typing import Any

import click

from agentleague.cli.output import print_facts, print_json
from agentleague.errors import UnsupportedGame
from agentleague.games.game import Game, is_luck
from agentleague.runtime import plugins


@click.command()
@click.argument("game", metavar="[GAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(game: str | None, as_json: bool) -> None:
    """List the games that are installed, one a line. With GAME, show what the author of a player
    needs to know: its rules, options, moves, and what `turn.position` looks like.

    league games
    league games tic_tac_toe
    league games ./my_game.py
    league games --json
    """
    if game:
        _print_game(plugins.find_game(plugins.as_typed(game)), as_json)
        return
    games = [_described(name) for name in plugins.game_names()]
    if as_json:
        print_json(games)
        return
    width = max((len(game["name"]) for game in games), default=0)
    for each in games:
        options = ", ".join(f"{name}={value}" for name, value in each["options"].items())
        shown = f" ({options})" if options else ""
        luck = " [luck alone]" if each["luck"] else ""
        draws = " [draws itself]" if each["draws_itself"] else ""
        print(f"{each['name']:<{width}}  {each['error'] or each['summary']}{shown}{luck}{draws}")


def _print_game(game: Game, as_json: bool) -> None:
    options = dict(getattr(game, "defaults", {}))
    state = game.start(options)
    seat = game.to_move(state)[0]
    moves = game.legal_moves(state, seat)
    facts = {
        "name": game.name,
        "rules": " ".join((game.__doc__ or "").split()),
        "options": options,
        "at_once": len(game.to_move(state)) > 1,
        "moves": None if moves is None else list(moves),
        "position": game.view(state, seat),
        "position_later": _later(game, state),
        "luck": is_luck(game, options),
        "draws_itself": hasattr(game, "show"),
    }
    if as_json:
        print_json(facts)
        return
    shown = {
        "Rules": facts["rules"],
        "Options": ", ".join(f"{name}={value}" for name, value in options.items()) or "none",
        "Who moves": "both at once" if facts["at_once"] else "one after the other",
        "Moves": "too many to list" if moves is None else ", ".join(map(json.dumps, moves)),
        "Position": json.dumps(facts["position"]),
    }
    if facts["position_later"] is not None:
        shown["Later"] = json.dumps(facts["position_later"])
    lucky = {True: "yes: no choice wins more often than it loses", False: "no"}
    shown["Luck alone"] = lucky.get(facts["luck"], "not known")
    shown["Draws itself"] = "yes" if facts["draws_itself"] else "no"
    print_facts(shown, game.name)


def _later(game: Game, state: Any) -> Any:
    """The position after one turn; None if the game is over then."""
    moves = {
        seat: next(iter(game.legal_moves(state, seat) or ()), None) for seat in game.to_move(state)
    }
    if None in moves.values():
        return None
    bounds = game.chance(state)
    after = game.play(state, moves, bounds[0] if bounds else None)
    waiting = tuple(game.to_move(after))
    return game.view(after, waiting[0]) if waiting else None


def _described(name: str) -> dict[str, Any]:
    try:
        game = plugins.load_game(name)
    except UnsupportedGame as error:
        broken: dict[str, Any] = {"summary": "", "options": {}, "luck": None, "draws_itself": False}
        return {"name": name, **broken, "error": str(error)}
    options = dict(getattr(game, "defaults", {}))
    words = " ".join((game.__doc__ or "").partition("\n\n")[0].split())
    sentence, stop, _ = words.partition(". ")
    facts = {"name": name, "summary": sentence + stop.strip(), "options": options}
    return facts | {
        "luck": is_luck(game, options),
        "draws_itself": hasattr(game, "show"),
        "error": None,
    }
