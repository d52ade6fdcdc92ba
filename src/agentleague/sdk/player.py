"""`Player`: an agent made of an author's functions.

The modules that it needs to play are imported when it plays, so importing this is cheap.
"""

import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentleague.errors import LeagueError
from agentleague.protocol.printable import printable
from agentleague.runtime.author_functions import AuthorTold, LoopThread
from agentleague.sdk.author_errors import AuthorErrors

if TYPE_CHECKING:
    from agentleague.player.role import HookCall
    from agentleague.roles.effects import Turn
    from agentleague.runtime.processes import Running
    from agentleague.runtime.query_pages import Work

Strategy = Callable[["Turn"], Any]
Hook = TypeVar("Hook", bound=Callable[[Any], Any])
T = TypeVar("T")
ASK_SECONDS = 10.0


class Questions(Protocol):
    """Where a player's questions are answered."""

    @property
    def player_id(self) -> str: ...

    async def run(self, work: "Work[T]") -> T: ...


class Player:
    """An agent by name; `plays` says which function moves in which game.

    Functions and hooks may be async. Hooks are called one after another in a thread of their own:
    they delay no answer, and an exception in one is printed and changes nothing.

    They may also ask the manager, with `standings`, `schedule`, `next_match`, `stats`, `status` and
    `query`. Each waits for the answer, `seconds` at most, while the player goes on answering, and
    raises LeagueError if it has not registered, or if the manager is away or refuses. An async
    function awaits `asyncio.to_thread(player.standings)`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._strategies: dict[str, Strategy] = {}
        self._hooks: dict[str, Callable[[Any], Any]] = {}
        self._loop = LoopThread()  # one for all its async functions, so that they can share objects
        self._asking = LoopThread()
        self.questions: Questions | None = None
        self.author_errors = AuthorErrors(self._say)

    @property
    def games(self) -> tuple[str, ...]:
        """The games it has a function for."""
        return tuple(self._strategies)

    def plays(self, game: str) -> Callable[[Strategy], Strategy]:
        """Use the function below for this game. Raises TypeError if that is missing, or no text."""
        if not isinstance(game, str):
            raise TypeError('the game is missing: write @player.plays("even_odd"), with brackets')

        def remember(strategy: Strategy) -> Strategy:
            self._strategies[game] = strategy
            return strategy

        return remember

    def on_round(self, hook: Hook) -> Hook:
        """Call the function below for each round: whom this player meets in it."""
        return self._hook("round", hook)

    def on_result(self, hook: Hook) -> Hook:
        """Call the function below with how each match ended."""
        return self._hook("result", hook)

    def on_standings(self, hook: Hook) -> Hook:
        """Call the function below with each table."""
        return self._hook("standings", hook)

    def on_league_end(self, hook: Hook) -> Hook:
        """Call the function below with how the league ended."""
        return self._hook("league_end", hook)

    def run(
        self,
        manager: str | int | None = None,
        port: int | None = None,
        *,
        join_code: str | None = None,
        state: str | Path | None = None,
        stay: bool = False,
        **settings: Any,
    ) -> None:
        """Register, play, and return when the league is over.

        The manager is at port 8000 of this machine, or where the variable LEAGUE_MANAGER says,
        unless it is given; between several addresses stand commas. If it is on another machine, the
        player listens at the address from which it reaches it; `bind`, `endpoint` and every other
        setting of `league player` can be given too, here or in the environment.
        Its token and its history are kept in the directory `state` (default: the user's own), so
        that it is the same player when it is started again. With `stay` it does not return, but
        waits at that manager for the next league, as a season has them. An error ends the program
        with a sentence.
        """
        from agentleague.sdk.joining import join_league

        given = {"manager_url": manager, "port": port, "join_code": join_code, "state": state}
        given |= {"stay": True} if stay else {}
        join_league(self, {**given, **settings}, self._say)

    @property
    def player_id(self) -> str:
        """The id that the manager gave it, like "P01"; empty before that."""
        return self.questions.player_id if self.questions else ""

    def standings(self, *, seconds: float = ASK_SECONDS) -> list[dict[str, Any]]:
        """The table as it is now, best first: rows as in `turn.standings`."""
        from agentleague.runtime.query_pages import all_rows

        return self._ask(lambda source: all_rows(source, "GET_STANDINGS", "standings"), seconds)

    def schedule(self, *, seconds: float = ASK_SECONDS, **params: int) -> list[dict[str, Any]]:
        """All rounds, or only that of `round_id=2`: each with `round_id`, `matches` and `byes`.

        A match has `match_id`, `player_A_id` and `player_B_id`, and once it is decided `status` and
        `winner_player_id`.
        """
        from agentleague.runtime.query_pages import all_rounds

        return self._ask(lambda source: all_rounds(source, **params), seconds)

    def next_match(self, *, seconds: float = ASK_SECONDS) -> dict[str, Any] | None:
        """Its match that is played now or comes next; None when there is none left.

        It has `match_id`, `round_id`, `opponent_id`, `referee_endpoint` and `game_type`.
        """
        told = self.query("GET_NEXT_MATCH", seconds=seconds, player_id=self.player_id)
        return told.get("next_match")

    def stats(self, player_id: str = "", *, seconds: float = ASK_SECONDS) -> dict[str, Any]:
        """A player's row of the table and its last matches: its own, unless another is named."""
        about = player_id or self.player_id
        told = self.query("GET_PLAYER_STATS", seconds=seconds, player_id=about)
        return dict(told.get("player_stats", told))

    def status(self, *, seconds: float = ASK_SECONDS) -> dict[str, Any]:
        """How far the league is: `status`, `current_round`, `total_rounds` and more."""
        return self.query("GET_STATUS", seconds=seconds)

    def query(
        self, query_type: str, *, seconds: float = ASK_SECONDS, **params: Any
    ) -> dict[str, Any]:
        """Any LEAGUE_QUERY: `player.query("GET_MATCH", match_id="R1M1")`; the answer's `data`.

        A long list comes in pages: ask on with `offset`.
        """
        return self._ask(lambda source: source.ask(query_type, **params), seconds)

    def _ask(self, work: "Work[T]", seconds: float) -> T:
        if self.questions is None:
            raise LeagueError(f"{self.name} is in no league: ask when player.run() plays")
        from asyncio import wait_for

        try:
            answer: T = self._asking.finish(wait_for(self.questions.run(work), seconds))
        except TimeoutError:
            raise LeagueError(f"the manager did not answer within {seconds:g} seconds") from None
        except CancelledError:
            raise LeagueError(f"{self.name} has stopped, and asks no more") from None
        return answer

    def function_for(self, game: str) -> Strategy:
        """The function for this game; an async one is wrapped into a plain one."""
        if game not in self._strategies:
            games = ", ".join(self.games) or "nothing"
            raise LeagueError(
                f'{self.name} plays {games}, not {game}; put @player.plays("{game}") above a '
                "function"
            )
        strategy = self._strategies[game]
        return lambda turn: self._loop.finish(strategy(turn))

    @property
    def has_hooks(self) -> bool:
        """Whether the author has written any hook."""
        return bool(self._hooks)

    def call_hook(self, heard: "HookCall") -> None:
        """Call the author's hook for this event, if there is one."""
        hook = self._hooks.get(heard.name)
        if hook:
            self._loop.finish(hook(heard.data))

    def attach(self, agent: "Running") -> None:
        """From now on this agent asks, the hooks are called for it, and its history is kept."""
        from agentleague.sdk.joining import Hooks, ManagerQuestions

        self.questions = ManagerQuestions(agent)
        hooks = Hooks(self.name, self.call_hook, agent, self._say)
        agent.closing += [hooks.close, self.close, self.author_errors.close]

    def close(self) -> None:
        """Stop the event loop of its async functions; it may play again."""
        self._loop.close()
        self._asking.close()

    def _hook(self, name: str, hook: Hook) -> Hook:
        self._hooks[name] = hook
        return hook

    def move(self, turn: "Turn") -> Any:
        """The author's move; an illegal one is reported to the author, and sent all the same."""
        if turn.game_type not in self._strategies:  # The referee is wrong, not the author.
            problem = f"asked for a move in {turn.game_type}, which it does not play"
            self._say(problem)
            raise AuthorTold(problem)
        strategy = self._strategies[turn.game_type]
        try:
            move = self._loop.finish(strategy(turn))
        except (Exception, SystemExit) as error:
            self.author_errors.raised(strategy, error, turn.match_id)
            raise AuthorTold(f"{type(error).__name__}: {error}") from error
        if turn.legal_moves and move not in turn.legal_moves:
            legal = ", ".join(map(repr, turn.legal_moves[:10]))
            self.author_errors.returned(strategy, repr(move), turn.match_id, f"legal: {legal}")
        return move

    def _say(self, sentence: str) -> None:
        print(printable(f"{self.name}: {sentence}"), file=sys.stderr, flush=True)
