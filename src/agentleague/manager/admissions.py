"""The manager's part in registrations: what is recorded, what is answered."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from agentleague.errors import MissingField, RegistrationRefused
from agentleague.league.league import League
from agentleague.manager.admission import Terms, admit_player, admit_referee, rejection
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RefereeRegisterRequest,
    RefereeRegisterResponse,
)
from agentleague.roles.effects import Event
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Asked, Caller


class Admission(Struct, frozen=True):
    """What comes of a registration: events to record in this order, and then the answer."""

    answer: LeagueRegisterResponse | RefereeRegisterResponse
    events: tuple[Event, ...] = ()
    agent_id: str = ""  # who is in; nobody where it was refused
    came_back: bool = False  # whether it was in before, and may act
    refusal: RegistrationRefused | None = None  # why it is not in


def terms_of(
    settings: ManagerSettings, secrets: Secrets, check_endpoint: Callable[[str, str], None]
) -> Terms:
    """On which terms a league of these settings takes agents in."""
    return Terms(
        secrets.token_secret,
        settings.players_max,
        settings.referees_max,
        check_endpoint,
        settings.unique_names,
        settings.join_code,
        settings.foreign_referees,
        settings.lease_seconds,
    )


def take_player(
    league: League, terms: Terms, message: LeagueRegisterRequest, caller: Caller
) -> Admission:
    """Let a player in, or say why not.

    Raises:
        TokenMissing, TokenInvalid: its join_code is missing or wrong.
    """
    came_back = league.roster.acting(caller.token) in league.roster.players
    try:
        terms = replace(terms, source=caller.source)
        event, answer = admit_player(league, terms, message, caller.source, caller.token)
    except RegistrationRefused as error:
        no = LeagueRegisterResponse(**rejection(error, "LEAGUE_REGISTER_REQUEST"))
        return Admission(no, refusal=error)
    events = _with_use_of_token(league, caller, event)
    return Admission(answer, events, answer.player_id or "", came_back)


def take_referee(
    league: League, terms: Terms, message: RefereeRegisterRequest, caller: Caller
) -> Admission:
    """Let a referee in, or say why not.

    Raises:
        TokenMissing, TokenInvalid: its join_code is missing or wrong.
    """
    came_back = league.roster.acting(caller.token) in league.roster.referees
    try:
        terms = replace(terms, source=caller.source)
        event, answer = admit_referee(league, terms, message, caller.token)
    except RegistrationRefused as error:
        no = RefereeRegisterResponse(**rejection(error, "REFEREE_REGISTER_REQUEST"))
        return Admission(no, refusal=error)
    events = _with_use_of_token(league, caller, event)
    return Admission(answer, events, answer.referee_id or "", came_back)


def check_complete(asked: Asked, missing_fields: str) -> None:
    """Refuse a message that lacks documented fields, where the league wants them all.

    Raises:
        MissingField: and which.
    """
    missing = asked.caller.missing
    if missing and missing_fields == "refuse":
        raise MissingField(
            f"this league wants every documented field, and these were missing: "
            f"{', '.join(missing)}"[:500],
            field=missing[0],
            missing=list(missing),
            kind="missing",
        )


def _with_use_of_token(league: League, caller: Caller, event: Event | None) -> tuple[Event, ...]:
    """A token that is shown is used: those before it end here, before a further one is given."""
    confirmed = league.roster.unconfirmed(caller.token)
    return tuple(each for each in (confirmed, event) if each)
