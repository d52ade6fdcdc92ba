"""Who is let into a league, under which id and name, and what it and the organiser are told.

An agent that shows a token with which it may act keeps its id and gets a further token. Any other
token counts as none. Agents that the organiser adds, by name and end point, are never told theirs.
Anybody may send one, and each writes rows: so an agent may come back only so often.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentleague import errors
from agentleague.dialects.table import LOST
from agentleague.league.events import (
    EndpointChanged,
    PlayerRegistered,
    PlayerReturned,
    RefereeApproved,
    RefereeRegistered,
    TokenRenewed,
)
from agentleague.league.league import Phase
from agentleague.league.roster import Member, clean_name, member_of
from agentleague.manager import notices
from agentleague.manager.claims import Claims, origin, renewal_of
from agentleague.manager.guesses import Guesses
from agentleague.manager.identity import Identity
from agentleague.manager.reachability import Reachability
from agentleague.manager.refusals import Refusals
from agentleague.manager.seats import at_seat, check_no_seat
from agentleague.manager.step import Step, shown_dialect
from agentleague.manager.tokens import Credentials
from agentleague.protocol import join_codes, seats
from agentleague.protocol.hosts import places
from agentleague.protocol.messages import (
    WIRE_NAME,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from agentleague.protocol.tokens import digest
from agentleague.roles.effects import Event
from agentleague.roles.stimuli import Asked, Caller

NAME_MAX = 500  # characters, as in a registration
URL_MAX = 256
TOO_LATE = {  # by the league's policy
    "refuse": 'the league has begun; players join before its first round (late = "refuse")',
    "next_stage": "the league has begun, and its last stage runs; who comes late joins with the "
    'next stage (late = "next_stage")',
    "play_remaining": "the league has begun, and none of its coming rounds can take somebody in "
    '(late = "play_remaining")',
}
ORGANISER = "127.0.0.1"  # from where the organiser commands

# What is to be recorded, if anything, and the answer, which alone holds the token.
PlayerDecision = tuple[
    PlayerRegistered | PlayerReturned | TokenRenewed | None, LeagueRegisterResponse
]
RefereeDecision = tuple[
    RefereeRegistered | RefereeApproved | TokenRenewed | None, RefereeRegisterResponse
]


class Admission(NamedTuple):
    """What came of a registration."""

    agent_id: str = ""  # empty if it was refused, or has to wait
    came_back: bool = False  # it showed a token with which it may act
    is_recorded: bool = False  # nothing is if it asked for the same again


class Registration:
    """Lets agents in."""

    def __init__(
        self,
        step: Step,
        *,
        credentials: Credentials,
        reachability: Reachability,
        claims: Claims,
        check_endpoint: Callable[[str, str], None],
    ) -> None:
        self._step, self._token, self._session = step, credentials.token, credentials.session
        self._reachability, self._check_endpoint = reachability, check_endpoint
        self._claims, self._identity = claims, Identity(step, claims)
        self._league, self._settings = step.league, step.settings
        self._returns: dict[str, tuple[float, int]] = {}  # agent -> when it came back, how often
        self.refusals = Refusals(step)
        # name, place -> when, so often; the latest comes last
        self._told_yes: dict[tuple[str, str], tuple[float, int]] = {}
        self._guesses = Guesses(step.limits)

    def register(self, asked: Asked) -> Admission:
        """Record the registration of an agent and answer it, or say why it is refused."""
        message: Any = asked.message
        known, roster = self._claims.known(_meta(asked), asked.caller), self._league.roster
        is_player = isinstance(message, LeagueRegisterRequest)
        came_back = known in (roster.players if is_player else roster.referees)
        admit: Callable[..., Any] = self.admit_player if is_player else self.admit_referee
        try:
            event, answer = admit(message, asked.caller)
            is_strict = self._settings.unreachable == "refuse" and not getattr(answer, "seat", "")
            # Only one that would be let in.
            if event and is_strict and self._reachability.awaits(asked, _meta(asked)):
                return Admission()
        except errors.RegistrationRefused as error:
            self._refuse(asked, error)
            return Admission()
        return self._accept(asked, event, answer, came_back)

    def unreachable(self, asked: Asked) -> None:
        """Nobody listens at the end point of a registration that waited for that."""
        is_player = isinstance(asked.message, LeagueRegisterRequest)
        refusal = errors.EndpointUnreachable if is_player else errors.RefereeUnreachable
        where = _meta(asked).contact_endpoint
        why = f"nobody listens at {where}; start the server or mend the URL, then register again"
        if is_player and self._settings.seats:
            why += ", or ask for a seat if you can only call out: player_meta.seat true"
        self._refuse(asked, refusal(why))

    def add_player(self, params: Mapping[str, Any]) -> PlayerRegistered:
        """The organiser adds a player, which will be called at its end point."""
        name, url = _name_and_url(params)
        known = self._league.roster.returning(name, places(url))
        if known:
            raise errors.UnexpectedMessage(f"{known[0].agent_id} is that player already")
        meta = PlayerMeta(name, url, join_code=self._settings.join_code)
        event, _ = self._admit_new_player(meta, Caller(ORGANISER))
        event = replace(event, source=UNSET)
        self._step.record(event)
        dialect = str(params.get("dialect", ""))
        if not dialect.endswith(LOST):  # It may not run yet.
            self._step.learn_dialect(event.player_id, dialect)
        self._step.notify(self._reachability.registered(event.player_id, ORGANISER, self._step.now))
        return event

    def add_referee(self, params: Mapping[str, Any]) -> RefereeRegistered:
        """Add a referee for the organiser; it gets one match at a time, and may show no token."""
        name, url = _name_and_url(params)
        for known in self._league.roster.referees.values():
            if known.endpoint == url:
                raise errors.UnexpectedMessage(f"{known.agent_id} is at that end point already")
        event, _ = self._admit_new_referee(RefereeMeta(name, url), Caller(ORGANISER))
        event = replace(event, added=True, anyone=UNSET, source=UNSET)
        self._step.record(event)
        told = self._reachability.registered(event.referee_id, ORGANISER, self._step.now)
        self._step.notify(told)
        return event

    def approve(self, params: Mapping[str, Any]) -> Member:
        """The organiser vouches for a referee: one that waits, or one that came as anyone may."""
        wanted, roster = params.get("referee_id"), self._league.roster
        if not isinstance(wanted, str):
            why = "params.referee_id must name a referee, as REF02"
            raise errors.WrongType(why, field="params.referee_id")
        member = roster.referees.get(wanted)
        if member and member.anyone and wanted not in roster.displaced:
            self._step.record(RefereeApproved(wanted))
            return roster.referees[wanted]
        if wanted not in roster.waiting:
            who = f"{wanted[:64]} {'referees already' if member else 'does not wait'}"
            raise errors.NotRegistered(f"{who}; waiting: {', '.join(roster.waiting) or 'nobody'}")
        self._check_place_for_a_referee()
        self._step.record(RefereeApproved(wanted))
        self._step.notify(self._reachability.registered(wanted, ORGANISER))
        self._claims.registered(wanted)
        return roster.referees[wanted]

    def set_endpoint(self, params: Mapping[str, Any]) -> EndpointChanged:
        """The organiser says where an agent is called from here on."""
        agent_id, url = params.get("agent_id"), params.get("url")
        roster = self._league.roster
        if not isinstance(agent_id, str) or not (
            agent_id in roster.players or agent_id in roster.referees
        ):
            raise errors.NotRegistered(f"no agent {str(agent_id)[:64]!r} is registered")
        if agent_id in roster.displaced:
            raise errors.UnexpectedMessage(f"{agent_id} was taken out; it can register again")
        if self._league.phase is Phase.COMPLETED:
            raise errors.UnexpectedMessage("the league is over already")
        event = EndpointChanged(agent_id, _check_url(url))
        self._check_place(event.endpoint, ORGANISER)
        self._step.record(event)
        self._step.search_again(agent_id)
        self._step.notify(self._reachability.registered(agent_id, ORGANISER))
        self._claims.registered(agent_id)
        return event

    # Decisions

    def admit_player(self, request: LeagueRegisterRequest, caller: Caller) -> PlayerDecision:
        """With a token or the claim of its own a player keeps its id, also when the league is over.

        So does one that registers again with its name and end point, from the end point's own
        address; on one machine everybody has that, so its further token may only ask. There is no
        event if that token was given before and never used: it is given again. A seat is its
        token's, and so are the calls there.
        Raises RegistrationRefused, or for the join_code TokenMissing, TokenInvalid or RateLimited.
        """
        meta, roster = request.player_meta, self._league.roster
        shown = roster.players.get(self._claims.known(meta, caller) or "")
        if meta.seat is True:
            meta, caller = at_seat(self._step, meta, shown), replace(caller, addresses=())
        if shown:
            return self._renew_player(meta, shown, caller)
        self._check_join_code(meta, "player_meta", caller.source)
        if meta.seat is True:  # It is nobody's yet.
            return self._admit_new_player(meta, caller)
        where = places(meta.contact_endpoint, caller.addresses)
        is_open = self._league.phase is Phase.REGISTERING
        for known in roster.returning(meta.display_name, where):
            is_other = is_open and self._claims.is_stronger(meta, where, caller, than=known)
            if not is_other and self._claims.is_back(known, where, caller):
                return self._readmit_player(known, meta)
        if is_open and not meta.claim:
            self._claims.check_free(where, meta, caller)
        return self._admit_new_player(meta, caller)

    def admit_referee(self, request: RefereeRegisterRequest, caller: Caller) -> RefereeDecision:
        """A new referee is let in until the league is over; with its token it keeps its id.

        One that may not referee is given an id and a token too, since a foreign one registers only
        once, and waits: its token gives no right before the organiser's word. There is no event if
        it waits already. Each registration of another begins a session. Raises as `admit_player`.
        """
        meta, roster = request.referee_meta, self._league.roster
        shown = roster.referees.get(self._claims.known(meta, caller) or "")
        if shown:
            return self._renew_referee(meta, shown, caller)
        waits = not self._may_referee(meta, caller.source)
        known = roster.waiting_with(caller.token, meta.claim or "")
        if known and known.endpoint == meta.contact_endpoint:
            if not waits:
                self._check_place_for_a_referee()
            event = None if waits else RefereeApproved(known.agent_id)
            token = self._token(known.agent_id, known.generation)
            return event, self._referee_answer(known, meta, token, waits=waits)
        return self._admit_new_referee(meta, caller, waits=waits)

    def _admit_new_player(
        self, meta: PlayerMeta, caller: Caller
    ) -> tuple[PlayerRegistered, LeagueRegisterResponse]:
        roster, players_max = self._league.roster, self._settings.players_max
        if self._league.phase is Phase.COMPLETED:
            raise errors.RegistrationAfterEnd("the league is over")
        here = self._league.players_total
        if self._league.phase is not Phase.REGISTERING:
            if not self._league.entry:
                raise errors.LateRegistration(TOO_LATE[self._league.rules.late or "refuse"])
            here += len(self._league.latecomers)
            self._claims.check_alone(places(meta.contact_endpoint, caller.addresses))
        # Those who will not play do not count, but their rows are limited too.
        if here >= players_max or len(roster.players) >= 2 * players_max:
            raise errors.LeagueFull(
                f"{players_max} players are registered already",
                max_players=players_max,
                current_players=here,
            )
        self._check(meta, caller.source)
        player_id, name, known_by = self._identity.of(meta, caller)
        generation = self._first_generation
        token = self._token(player_id, generation)
        event = PlayerRegistered(
            player_id,
            name,
            meta.contact_endpoint,
            meta.version,
            digest(token),
            generation,
            proofs=meta.proofs,
            known_by=known_by,
            **origin(meta, caller),
        )
        answer = self._player_answer(player_id, name, meta, token)
        if self._league.entry:
            entry = notices.entry(self._league, "you play")
            answer = replace(answer, hint=f"The league has begun: {entry}.")
        return event, answer

    def _admit_new_referee(
        self, meta: RefereeMeta, caller: Caller, *, waits: bool = False
    ) -> tuple[RefereeRegistered, RefereeRegisterResponse]:
        roster = self._league.roster
        self._check_place_for_a_referee(waits=waits)
        if self._settings.foreign_referees == "refuse" and meta.locks is not True:
            raise errors.VersionMismatch(
                "this league takes only referees that lock the moves with its manager; "
                "one that does says so with referee_meta.locks true",
                field="referee_meta.locks",
            )
        self._check(meta, caller.source)
        is_anyone = self._settings.who_may_referee == "anyone" and not self._shown_code(meta)
        referee_id, generation = roster.next_referee_id(), self._first_generation
        token = self._token(referee_id, generation)
        event = RefereeRegistered(
            referee_id,
            clean_name(meta.display_name) or referee_id,
            meta.contact_endpoint,
            meta.version,
            digest(token),
            meta.max_concurrent_matches,
            meta.locks is True,
            generation,
            proofs=meta.proofs,
            waiting=True if waits else UNSET,
            anyone=True if is_anyone else UNSET,
            **origin(meta, caller),
        )
        return event, self._referee_answer(member_of(event), meta, token, waits=waits)

    def _renew_player(self, meta: PlayerMeta, member: Member, caller: Caller) -> PlayerDecision:
        """A player that shows a token of its own."""
        self._check(meta, caller.source)
        where = places(meta.contact_endpoint, caller.addresses)
        if where != member.places and self._league.phase is not Phase.COMPLETED:
            is_there = self._reachability.known.get(member.agent_id) is True
            self._claims.check_move(meta, member, where, is_there=is_there)
        renewal = renewal_of(meta, caller, member)
        is_newest = digest(caller.token or "") == member.token_digest
        was_given = not is_newest and _is_same(meta, member) and not renewal
        player_id = member.agent_id
        generation = member.generation if was_given else self._next_generation(player_id)
        token = self._token(player_id, generation)
        answer = self._player_answer(player_id, member.display_name, meta, token)
        if was_given:
            return None, answer
        at = (digest(token), generation, meta.contact_endpoint)
        return TokenRenewed(player_id, *at, proofs=meta.proofs, **renewal), answer

    def _renew_referee(self, meta: RefereeMeta, member: Member, caller: Caller) -> RefereeDecision:
        """A referee that shows a token of its own: its old session is over."""
        self._check(meta, caller.source)
        was_lost = self._league.roster.acting(caller.token) != member.agent_id  # The answer was.
        if was_lost and _is_same(meta, member):
            token = self._token(member.agent_id, member.generation)
            return None, self._referee_answer(member, meta, token)
        generation = self._next_generation(member.agent_id)
        token = self._token(member.agent_id, generation)
        at = (digest(token), generation, meta.contact_endpoint, meta.max_concurrent_matches)
        renewed = replace(member, generation=generation)
        answer, more = self._referee_answer(renewed, meta, token), renewal_of(meta, caller, member)
        return TokenRenewed(member.agent_id, *at, proofs=meta.proofs, **more), answer

    def _readmit_player(self, member: Member, meta: PlayerMeta) -> PlayerDecision:
        """A player that lost its token; if it asks again, it is given the same one again."""
        player_id = member.agent_id
        given = self._league.roster.asking.get(player_id)
        generation = given or self._next_generation(player_id)
        token = self._token(player_id, generation)
        answer = replace(
            self._player_answer(player_id, member.display_name, meta, token),
            display_name_effective=member.display_name,
            match_tokens=False,  # They are made from the token that it lost.
            proofs=meta.proofs if member.proofs else UNSET,
        )
        return None if given else PlayerReturned(player_id, digest(token), generation), answer

    # What is recorded, and what is answered

    def _accept(self, asked: Asked, event: Event | None, answer: Any, came_back: bool) -> Admission:
        agent_id = getattr(answer, "player_id", "") or answer.referee_id
        # A token that is shown is used: those before it end, before a further one is given.
        confirmed = self._league.roster.unconfirmed(asked.caller.token)
        events = [each for each in (confirmed, event) if each]
        if came_back and events:
            self._check_return(agent_id)
        for each in events:
            self._step.record(each)
        if isinstance(event, PlayerRegistered | RefereeRegistered):
            self._step.learn_dialect(agent_id, shown_dialect(asked, event.endpoint))
        else:
            endpoint = self._league.roster.member(agent_id).endpoint
            self._step.search_again(agent_id, shown_dialect(asked, endpoint))
        self._step.reply(asked, replace(answer, status=self._yes(asked)))
        waiting = self._league.roster.waiting.get(agent_id)
        if waiting:
            if events:
                self._step.notify(notices.waiting(waiting, asked.caller.source))
            return Admission()
        if events:
            self._step.notify(notices.joined(self._league, agent_id, self._settings))
            source, now = asked.caller.source, self._step.now
            self._step.notify(self._reachability.registered(agent_id, source, now))
            self._claims.registered(agent_id)
        if isinstance(event, PlayerRegistered) and event.claim_digest is UNSET:
            self._claims.came_home(agent_id)
        return Admission(agent_id, came_back, bool(events))

    def _yes(self, asked: Asked) -> Literal["ACCEPTED", "REGISTERED"]:
        """A few take only REGISTERED for a yes: who asks a third time at once is told that."""
        # One that asks a second time may not have heard the answer, or was started again.
        meta = _meta(asked)
        if asked.caller.token or meta.claim or getattr(meta, "seat", False):
            return "ACCEPTED"
        now, told = self._step.now, self._told_yes
        while told and now - next(iter(told.values()))[0] >= self._step.limits.asked_again_seconds:
            del told[next(iter(told))]
        key = (meta.display_name, meta.contact_endpoint)
        times = told.pop(key, (now, 0))[1]
        told[key] = (now, times + 1)
        return "REGISTERED" if times and times % 2 == 0 else "ACCEPTED"

    def _refuse(self, asked: Asked, error: errors.RegistrationRefused) -> None:
        """Answer no, in the words of document 004 and with our own beside them, or of 001."""
        number = error.number_for(WIRE_NAME[type(asked.message)])
        is_player = isinstance(asked.message, LeagueRegisterRequest)
        response = LeagueRegisterResponse if is_player else RefereeRegisterResponse
        answer = response(
            "REJECTED",
            reason=error.reason,
            hint=str(error)[:500],
            error_code=error.code,
            code=number,
        )
        self._step.reply(asked, error if self._settings.rejections == "error" else answer)
        self.refusals.of(asked, error.code, str(error))

    def _check_return(self, agent_id: str) -> None:
        """Each return may write rows and move matches: wait longer between many of them."""
        limits, now = self._step.limits, self._step.now
        when, times = self._returns.get(agent_id, (now - limits.return_seconds_max, 0))
        factor = 2 ** max(0, times - limits.returns_free)
        wait = min(limits.return_seconds * factor, limits.return_seconds_max)
        if now - when < wait:
            left = max(1, round(when + wait - now))
            why = f"registered a moment ago; wait {left} s and try again"
            raise errors.RateLimited(why, retry_after=left)
        self._returns[agent_id] = (now, times + 1)

    def _player_answer(
        self, player_id: str, name: str, meta: PlayerMeta, token: str
    ) -> LeagueRegisterResponse:
        is_told = self._settings.seats and (meta.claim or meta.seat is not UNSET)
        return LeagueRegisterResponse(
            "ACCEPTED",
            player_id,
            self._league.rules.league_id,
            match_tokens=True,
            proofs=meta.proofs,
            game_options=self._league.rules.rules.game_options or UNSET,
            display_name_effective=name if name != meta.display_name else UNSET,
            seat=seats.seat_of(player_id) if meta.seat is True else UNSET,
            seats=True if is_told else UNSET,
            auth_token=token,
        )

    def _referee_answer(
        self, member: Member, meta: RefereeMeta, token: str, *, waits: bool = False
    ) -> RefereeRegisterResponse:
        name = member.display_name
        return RefereeRegisterResponse(
            "ACCEPTED",
            member.agent_id,
            self._league.rules.league_id,
            session=self._session(member),
            lease_seconds=self._settings.lease_seconds if member.locks else UNSET,
            proofs=meta.proofs,
            waiting=True if waits else UNSET,
            display_name_effective=name if name != meta.display_name else UNSET,
            auth_token=token,
        )

    # Names, tokens and checks

    def _next_generation(self, agent_id: str) -> int:
        return max(self._league.roster.generations.get(agent_id, 1), self._league.generation) + 1

    @property
    def _first_generation(self) -> int:
        """Of the token of a new agent: somebody who was lost may hold an earlier one of its id."""
        return self._league.generation or 1

    def _may_referee(self, meta: RefereeMeta, source: str) -> bool:
        """Whether it may at once; `local`: the guard lets nobody in who comes from elsewhere."""
        shown = self._shown_code(meta)
        if shown:
            wanted = self._settings.referee_code
            self._check_code(shown, wanted, "referee_meta.referee_code", source)
            return True
        self._check_join_code(meta, "referee_meta", source)
        who = self._settings.who_may_referee
        return who == "anyone" or (who == "local" and bool(source))

    def _shown_code(self, meta: RefereeMeta) -> str:
        """The referee code that it shows, if this league has one."""
        return (meta.referee_code or "") if self._settings.referee_code else ""

    def _check_place_for_a_referee(self, *, waits: bool = False) -> None:
        """Referees that wait are counted by themselves: they take no other's place."""
        roster, referees_max = self._league.roster, self._settings.referees_max
        if self._league.phase is Phase.COMPLETED:
            raise errors.RegistrationAfterEnd("the league is over")
        if waits and len(roster.waiting) >= self._step.limits.waiting_max:
            raise errors.RefereesFull(
                f"{len(roster.waiting)} referees wait for the organiser already; show the "
                "referee_code of this league, or let the organiser add this one: league "
                "add-referee NAME URL"
            )
        is_full = roster.referees_total >= referees_max or len(roster.referees) >= 2 * referees_max
        if not waits and is_full:
            raise errors.RefereesFull(
                f"{referees_max} referees are registered already",
                max_referees=referees_max,
                current_referees=roster.referees_total,
            )

    def _check_join_code(self, meta: PlayerMeta | RefereeMeta, path: str, source: str) -> None:
        wanted = self._settings.join_code
        if not wanted:
            return
        if meta.join_code is UNSET or not meta.join_code:
            raise errors.TokenMissing(
                f"this league has a join_code: ask the organiser, and send it as {path}.join_code",
                field=f"{path}.join_code",
            )
        self._check_code(meta.join_code, wanted, f"{path}.join_code", source)

    def _check_code(self, shown: str, wanted: str, field: str, source: str) -> None:
        """Raises TokenInvalid for a wrong code, or RateLimited after too many of them."""
        is_right = join_codes.is_same(shown, wanted)
        wait = self._guesses.seconds_to_wait(source, self._step.now)
        if wait and (not is_right or join_codes.is_guessable(wanted)):
            raise errors.RateLimited(
                f"too many wrong codes came from your address; wait {wait} s, then send {field} "
                "again",
                retry_after=wait,
            )
        if not is_right:
            self._step.notify(self._guesses.count(source, self._step.now))
            why = f"{field} is not this league's; ask the organiser for it"
            raise errors.TokenInvalid(why, field=field)

    def _check(self, meta: PlayerMeta | RefereeMeta, source: str) -> None:
        _check_game(self._league.rules.game_type, meta.game_types)
        _check_version(meta.protocol_version)
        if getattr(meta, "seat", False) is not True:
            self._check_place(meta.contact_endpoint, source)

    def _check_place(self, url: str, source: str) -> None:
        check_no_seat(url)
        self._check_endpoint(url, source)


def _meta(asked: Asked) -> PlayerMeta | RefereeMeta:
    message: Any = asked.message
    return getattr(message, "player_meta", None) or message.referee_meta  # type: ignore[no-any-return]


def _is_same(meta: PlayerMeta | RefereeMeta, member: Member) -> bool:
    return meta.contact_endpoint == member.endpoint and (meta.proofs is True) == member.proofs


def _check_game(game: str, games: Sequence[str]) -> None:
    if games and game not in games:
        raise errors.UnsupportedGame(
            f"this league plays {game!r}, and game_types has only {list(games)[:5]}; "
            f"add {game!r} if the agent knows it"
        )


def _check_version(version: str | UnsetType) -> None:
    spoken = version if version is not UNSET and version else "2.1.0"
    major = spoken.removeprefix("league.v").split(".")[0]
    if major != "2":
        raise errors.VersionMismatch(
            f"protocol_version is {spoken!r}; this league speaks 2.1.0 and takes 2.0.0 and later",
            field="protocol_version",
        )


def _name_and_url(params: Mapping[str, Any]) -> tuple[str, str]:
    name = params.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        raise errors.WrongType("params.name must be the agent's name", field="params.name")
    return name, _check_url(params.get("url"))


def _check_url(url: Any) -> str:
    if not isinstance(url, str) or not 0 < len(url) <= URL_MAX:
        raise errors.WrongType("params.url must be the agent's end point", field="params.url")
    return url
