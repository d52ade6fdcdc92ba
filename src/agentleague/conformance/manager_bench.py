"""The kit as the referees and players of one manager, through one whole league.

The league is brought as far as a rule wants, and no further: `started`, `round`, `finished`.
"""

import re
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Received
from agentleague.conformance.manager_agents import (
    END,
    REFEREE,
    AgentOfTheKit,
    Match,
    Outcome,
    Play,
    is_about_round,
    name_of,
)
from agentleague.conformance.peer import Peer
from agentleague.conformance.rules import NotApplicable, NotReached
from agentleague.conformance.target import (
    POLL_SECONDS,
    Target,
    Unreachable,
    free_port,
    refuse_ended,
    start,
)
from agentleague.dialects.table import DIALECTS
from agentleague.protocol.messages import (
    LeagueQueryResponse,
    LeagueRegisterResponse,
    MatchResultAck,
    RefereeRegisterResponse,
)
from agentleague.runtime.clock import stopwatch

FORMS = ("tool", "type", "message", "bare", "lower", "mcp")
REFEREES, ENOUGH = 2, 4  # with so many players every rule can be tried
REGISTERED = (RefereeRegisterResponse, LeagueRegisterResponse)
UNAVAILABLE = 503  # of a manager that has just been started
NEEDS_MORE = f"needs a league of {ENOUGH} players: leave out --players"
PLACES = ("{port}", "LEAGUE_CHECK_PORT")  # by which a command is told its port
IS_TOO_LATE = re.compile(
    r"\bE019\b|\bE031\b|(?<!not )(?<!not yet )"
    r"\b(begun|already running|started|is over(?! \d)|ended|finished|closed)\b",
    re.IGNORECASE,
)
ROUNDS_MAX = 2  # for each player: everybody meets everybody twice, and rests once each time


class ManagerBench(Bench):
    """A manager, all of whose referees and players are the kit."""

    role = "manager"
    sender = "player:kit"

    def __init__(self, target: Target, limits: Limits) -> None:
        self.target = target
        self.directory: tempfile.TemporaryDirectory[str] | None = None
        self.agents: list[AgentOfTheKit] = []
        self.play = Play()
        self.end: Received | None = None  # the first LEAGUE_COMPLETED
        self.before_restart: dict[str, tuple[Any, ...]] = {}  # what the table said
        self.excused: list[AgentOfTheKit] = []  # who hung, and so may have missed something
        self._stuck = ""  # why the league goes no further
        self._is_form_known = False
        self._tells_referees = self._tells_everybody = True
        self.missed: set[tuple[str, str, int]] = set()  # what was waited for in vain
        try:
            super().__init__(Peer(self._start(limits), limits), limits)
            self._wait_until_it_listens()
            self.players = [self.spare("player", f"Kit player {i + 1}") for i in range(self.size)]
            self.referees = [self.spare(REFEREE, f"Kit referee {i + 1}") for i in range(REFEREES)]
            self._expect_room()
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """How many players make the league begin."""
        return self.target.players

    def _start(self, limits: Limits) -> str:
        if not self.target.command:
            return self.target.url
        if not self.target.url and not any(each in self.target.command for each in PLACES):
            raise Unreachable(
                "write {port} into the command where its port belongs, or give its URL too"
            )
        if self.target.url and Peer(self.target.url, limits).is_listening():
            raise Unreachable(
                f"somebody listens at {self.target.url} before the command is started; "
                "end it, or leave out --command"
            )
        port = str(free_port(self.target.bind))
        self.directory = tempfile.TemporaryDirectory(
            prefix="league-check-", ignore_cleanup_errors=True
        )
        places = {
            "port": port,
            "players": str(self.target.players),
            "referees": str(REFEREES),
            "dir": self.directory.name,
        }
        self.launch = start(self.target, limits, places)
        return self.target.url or f"http://{self.target.bind}:{port}/mcp"

    def _wait_until_it_listens(self) -> None:
        until = stopwatch() + self.limits.start
        while not self.is_up():
            refuse_ended(self.launch)
            if not self.launch:
                raise Unreachable(
                    f"nobody listens at {self.peer.url}; start the manager, or check its port"
                )
            if stopwatch() > until:
                raise Unreachable(
                    f"it does not listen at {self.peer.url} within {self.limits.start:.0f} s; "
                    "write {port} into the command where its port belongs, or give its URL too"
                )
            self.launch.wait(POLL_SECONDS)

    def _expect_room(self) -> None:
        """Raise Unreachable if the manager takes nobody, because its league has begun."""
        while self.ask(self.query("GET_STANDINGS"), seconds=self.limits.join).is_late:
            self.refuse_silence()
        for agent in (self.referees[0], self.players[0]):
            self.exchanges = []
            with suppress(NotReached):
                self.join(agent)
        if self.players[0].is_in:
            return
        said = (each.answer for each in self.exchanges if each.answer.fields())
        if any(IS_TOO_LATE.search(each.body.decode(errors="replace")) for each in said):
            raise Unreachable(
                "this manager's league has begun already; start a new manager, or let the kit "
                "start it: --command …"
            )

    def is_up(self) -> bool:
        """Whether it listens, and is ready."""
        return self.peer.is_listening() and self.peer.get("/health").status != UNAVAILABLE

    def spare(self, kind: str, name: str) -> AgentOfTheKit:
        """One more agent of the kit, which listens and is not registered."""
        agent = AgentOfTheKit(kind, name, self.target.bind)
        self.agents.append(agent)
        return agent

    # What is asked, and how answers are read.

    def control(self) -> Fields:
        self.started()
        return self.query("GET_STANDINGS")

    def is_taken(self, answer: Answer) -> bool:
        found = self.read(self.query("GET_STANDINGS"), answer)
        is_error = "error_code" in self.said(answer)
        return isinstance(found, LeagueQueryResponse) and not (is_error or found.success is False)

    def ask(self, message: Fields, **how: Any) -> Answer:
        try:
            return super().ask(message, **how)
        except msgspec.ValidationError:
            raise NotReached(
                f"the kit cannot write this in the form that this manager takes "
                f"({self.dialect.words}); let it take `method` and flat `params`, as document 001"
            ) from None

    def registration(self, agent: AgentOfTheKit, **meta: Any) -> Fields:
        """What an agent registers with, as document 001 shows it; ... leaves a field out."""
        name = "REFEREE_REGISTER_REQUEST" if agent.is_referee else "LEAGUE_REGISTER_REQUEST"
        said: Fields = {
            "display_name": agent.name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": agent.url,
        }
        said |= {"max_concurrent_matches": 1} if agent.is_referee else {}
        said = {key: value for key, value in (said | meta).items() if value is not ...}
        sender = f"{agent.kind}:kit-{agent.listener.port}"
        return self.message(name, sender=sender) | {f"{agent.kind}_meta": said}

    def query(self, query_type: str, asker: AgentOfTheKit | None = None, **fields: Any) -> Fields:
        """LEAGUE_QUERY, by the first player unless it is somebody else."""
        asker = asker or self.players[0]
        known = {"auth_token": asker.token} if asker.token else {}
        known |= {"league_id": asker.league_id} if asker.league_id else {}
        asked = self.message("LEAGUE_QUERY", sender=asker.sender) | known
        return asked | {"query_type": query_type, "query_params": {}} | fields

    def report(self, match: Match, outcome: Outcome | None = None, **fields: Any) -> Fields:
        """MATCH_RESULT_REPORT by its own referee; ... leaves a field out."""
        referee = self.referee_of(match)
        said = self.message(
            "MATCH_RESULT_REPORT",
            sender=referee.sender,
            auth_token=referee.token,
            league_id=referee.league_id,
            round_id=match.round_id,
            match_id=match.match_id,
            game_type="even_odd",
            result=(outcome or self.play.planned(match, self.players[0])).result(match),
        )
        return {key: value for key, value in (said | fields).items() if value is not ...}

    def is_in(self, agent: AgentOfTheKit, answer: Answer) -> bool:
        """Whether a registration was accepted; then the agent knows its id and its token."""
        found = self.read(self.registration(agent), answer)
        if not isinstance(found, REGISTERED) or found.status == "REJECTED":
            return False
        named = found.referee_id if isinstance(found, RefereeRegisterResponse) else found.player_id
        agent.id = named or agent.id
        agent.league_id = found.league_id or agent.league_id
        if isinstance(found.auth_token, str):
            agent.token = found.auth_token
        agent.is_in = True
        return True

    def is_acknowledged(self, match: Match, answer: Answer) -> bool:
        """Whether a report of a match was taken."""
        return isinstance(self.read(self.report(match), answer), MatchResultAck)

    # The league.

    def join(self, agent: AgentOfTheKit) -> AgentOfTheKit:
        """See to it that an agent is registered, in whatever form the manager takes."""
        if agent.is_in:
            return agent
        for name in (self.dialect.name,) if self._is_form_known else FORMS:
            self.speak(DIALECTS[name])
            answer = self.ask(self.registration(agent))
            agent.exchange = self.exchanges[-1]
            if self.is_in(agent, answer):
                self._is_form_known = True
                return agent
        self.dialect = DIALECTS["tool" if not self._is_form_known else self.dialect.name]
        raise NotReached(f"the manager did not take the registration of {agent.name!r}")

    def join_referees(self) -> None:
        """Register all referees; a league may have room for one only."""
        self.join(self.referees[0])
        for referee in self.referees[1:]:
            try:
                self.join(referee)
            except NotReached:
                self.referees.remove(referee)

    def before_the_start(self) -> None:
        """Raise NotReached if the league has begun."""
        if self.has_begun():
            self.blame()
            self._expect_enough()
            raise NotReached("the league has begun, so nobody can register any more")

    def _expect_enough(self) -> None:
        if self.size < ENOUGH:
            raise NotApplicable(NEEDS_MORE)

    def blame(self) -> None:
        """Raise NotReached if players are in the league whom the manager should have refused."""
        if faults := [f"a player {each.fault}" for each in self.in_league() if each.fault]:
            raise NotReached(f"the manager took what it should refuse: {', '.join(faults)}")

    def has_begun(self) -> bool:
        """Whether a player was told of the first round."""
        return self.heard(is_about_round(1), 0, self.players) is not None

    def next_player(self) -> AgentOfTheKit:
        """A player that is still to register. Raises NotReached if there is none."""
        self.before_the_start()
        self.join_referees()  # before the last player, with whom the league begins
        if left := [each for each in self.players if not each.is_in]:
            return left[0]
        self.blame()
        self._expect_enough()
        raise NotReached("all players are registered")

    def started(self) -> list[Match]:
        """The matches of the first round, all agents being registered."""
        if not self.play.rounds:
            self._go_on()
            self.join_referees()
            for player in self.players:
                if self.has_begun():
                    break
                self.join(player)
            self._await_round(1)
            self.speaks = self.find_dialects()
        return self.play.rounds[0]

    def round(self, number: int) -> list[Match]:
        """The matches of a round, all rounds before it being played."""
        self.started()
        while len(self.play.rounds) < number:
            self.finish(len(self.play.rounds))
            self._await_round(len(self.play.rounds) + 1)
            if self.end:
                raise NotReached(f"the league has only {len(self.play.rounds)} rounds")
        return self.play.rounds[number - 1]

    def open_match(self) -> Match:
        """A match that was announced and not reported, in the present round or the next one."""
        self.started()
        while not self.end:
            if match := self._unreported():
                return match
            self._await_round(self.play.rounds[-1][0].round_id + 1)
        self._expect_enough()
        raise NotReached("the league is over, and this rule needs a match that runs")

    def _unreported(self) -> Match | None:
        """A match of the present round, one that a referee was told of if there is any."""
        matches = [x for x in self.play.rounds[-1] if x.match_id not in self.play.results]
        if not matches:
            return None
        return next(iter(self.told_of(matches, 1)), matches[0])

    def finish(self, number: int) -> None:
        """Report all matches of a round that were not reported yet."""
        self.round(number)
        while number == len(self.play.rounds) and (match := self._unreported()):
            self.tell(match)

    def over(self, number: int) -> list[Match]:
        """The matches of a round, the manager having gone on after it."""
        matches = self.round(number)
        self.finish(number)
        if len(self.play.rounds) == number:
            self._await_round(number + 1)
        return matches

    def finished(self) -> Received:
        """LEAGUE_COMPLETED, all matches being played."""
        self.started()
        while not self.end:
            self.over(len(self.play.rounds))
        return self.end

    def tell(self, match: Match, outcome: Outcome | None = None) -> Answer:
        """Report a match as it ought to be. Raises NotReached if that is refused."""
        outcome = outcome or self.play.planned(match, self.players[0])
        asked = self.report(match, outcome)
        answer = self.ask(asked)
        if not self.is_acknowledged(match, answer) and match.match_id not in self.play.doubtful:
            raise NotReached(f"the report of {match.match_id} was not taken, so nothing goes on")
        self.play.results[match.match_id] = outcome
        return answer

    def referee_of(self, match: Match) -> AgentOfTheKit:
        """Who has to report a match: whoever was told of it, by whatever message."""
        told = self.told_of([match], 1).get(match)
        for referee in self.referees:
            is_named = referee.url == match.referee_endpoint
            if told in referee.listener.received if told else is_named:
                return referee
        raise NotReached(
            f"no referee was told of {match.match_id}; send START_MATCH or ROUND_ANNOUNCEMENT "
            "to the contact_endpoint of the referee"
        )

    def told_of(self, matches: list[Match], at_least: int) -> dict[Match, Received]:
        """What gave matches to referees, as soon as there are so many, or else those there are."""

        def found() -> dict[Match, Received]:
            told = {match: self._told(match) for match in matches}
            return {match: received for match, received in told.items() if received}

        seconds = self.limits.next_step if self._tells_referees else 0
        self.heard(lambda _: len(found()) >= at_least, seconds, self.referees)
        told = found()
        self._tells_referees = bool(told)
        return told

    def _told(self, match: Match) -> Received | None:
        told = [
            received
            for referee in self.referees
            for received in list(referee.listener.received)
            if match.match_id in referee.told_by(received)
        ]
        return max(told, key=lambda each: each.at) if told else None

    def _await_round(self, number: int) -> None:
        """Wait until a round begins, or the league ends."""
        self._go_on()
        size = len(self.players)
        if number > ROUNDS_MAX * size:
            self._stuck = f"it announced more than {ROUNDS_MAX * size} rounds to {size} players"
            self._go_on()
        is_next = is_about_round(number)
        among = self.in_league()
        seconds = self.limits.next_step
        found = self.heard(lambda each: is_next(each) or is_end(each), seconds, among)
        if found is None:
            self._stuck = self._why_stuck(number)
            self._go_on()
        elif is_end(found):
            self.end = found
        else:
            self.play.begin(found, self._announced_to_all(number))
            if len(self.play.rounds[-1]) > size:
                self._stuck = f"it announced more than {size} matches a round to {size} players"
                self._go_on()

    def _announced_to_all(self, number: int) -> list[Received]:
        """The announcement as each player was sent it: some managers tell each its own match."""
        until = stopwatch() + (self.limits.next_step if self._tells_everybody else 0)
        found, missing = [], 0
        for player in sorted(self.in_league(), key=lambda each: bool(each.fault)):
            left = max(0.0, until - stopwatch())
            seconds = min(left, self.limits.quiet) if player.fault else left
            if each := self.heard(is_about_round(number), seconds, [player]):
                found.append(each)
            elif not player.fault:
                missing += 1
        self._tells_everybody = not missing
        return found

    def _why_stuck(self, number: int) -> str:
        if number > 1:
            return (
                f"nothing came within {self.limits.next_step:.0f} s after all matches of round "
                f"{number - 1} were reported: no ROUND_ANNOUNCEMENT and no LEAGUE_COMPLETED"
            )
        return (
            f"no ROUND_ANNOUNCEMENT came within {self.limits.next_step:.0f} s after {self.size} "
            f"players and {REFEREES} referees had registered; if this manager begins with another "
            "number of players, say it with --players N"
        )

    def _go_on(self) -> None:
        if self._stuck:
            self.blame()
            raise NotReached(self._stuck)

    def heard(
        self,
        found: Callable[[Received], bool],
        seconds: float,
        among: Iterable[AgentOfTheKit] = (),
    ) -> Received | None:
        """The first such request to one of the agents, as soon as it came; or None."""
        until = stopwatch() + seconds
        agents = list(among) or self.agents
        while True:
            for agent in agents:
                if received := agent.heard(found):
                    return received
            left = until - stopwatch()
            if left <= 0:
                return None
            listener = agents[0].listener
            listener.wait_for(lambda _: True, min(left, POLL_SECONDS), after=len(listener.received))

    def in_league(self) -> list[AgentOfTheKit]:
        """The players that take part."""
        return [each for each in self.players if each.is_in]

    def sound(self) -> list[AgentOfTheKit]:
        """Those that registered as they should: they are told all, and the manager is judged."""
        return [each for each in self.in_league() if not each.fault]

    def restart(self) -> None:
        """Kill the manager, and start it again with the same command."""
        assert self.launch
        self.launch.kill()
        self.launch.start()
        with suppress(Unreachable):
            self._wait_until_it_listens()
        self.speak(self.dialect)

    def begin_anew(self) -> None:
        """Forget the league, as the manager did: the same agents register for another one."""
        self.play, self.end, self._stuck = Play(), None, ""
        self._tells_referees = self._tells_everybody = True
        self.missed.clear()
        for agent in self.agents:
            agent.is_in, agent.fault = False, ""
            agent.listener.forget()

    def find_dialects(self) -> list[str]:
        """The forms in which the manager answers a query."""
        own, found = self.dialect, []
        for name in FORMS:
            self.speak(DIALECTS[name])
            if self.is_taken(self.ask(self.query("GET_STANDINGS"))):
                found.append(name)
        self.dialect = own
        return found

    def close(self) -> None:
        super().close()
        with ThreadPoolExecutor(len(self.agents) or 1) as pool:  # Each has to wait for its end.
            list(pool.map(lambda agent: agent.listener.close(), self.agents))
        if self.directory:
            self.directory.cleanup()


def is_end(received: Received) -> bool:
    """Whether the league is over."""
    return name_of(received) == END
