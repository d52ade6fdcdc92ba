"""A journal row as a sentence and as JSON for everybody: without tokens and their digests."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from agentleague.dialects.table import in_words
from agentleague.league import events, match_result
from agentleague.protocol.printable import counted
from agentleague.roles.effects import Event

HIDDEN = ("token_digest", "claim_digest", "source", "kind")  # A log line has the kind by itself.


def public_fields(event: Event) -> dict[str, Any]:
    """The fields of an event without secrets."""
    fields = {
        k: v for k, v in msgspec.json.decode(msgspec.json.encode(event)).items() if k not in HIDDEN
    }
    if "endpoint" in fields:
        fields["endpoint"] = public_url(fields["endpoint"])
    return fields


def public_url(url: str) -> str:
    """An end point without its user and query, which may hold a secret."""
    try:
        scheme, place, path, _, _ = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((scheme, place.rpartition("@")[2], path, "", ""))


def sentence(event: Event) -> str:
    """An event as a sentence."""
    return _SENTENCES[type(event)](event)


def _result(event: events.MatchDecided) -> str:
    result = event.result
    if result.no_contest is True:
        return f"{event.match_id} counts for neither player: {result.reason}"
    winner = result.winner_player_id
    end = f"{winner} won" if winner else "nobody won"
    believed = "" if event.verified else " (believed, not verified)"
    alone = " (by one referee's word)" if event.unconfirmed is True else ""
    return f"{event.match_id}: {end} ({result.status}): {result.reason}{believed}{alone}"


def _ended(event: events.LeagueEnded) -> str:
    if event.aborted:
        return f"The organiser ended the league; {event.champion or 'nobody'} led"
    return f"The league is over; {event.champion} won it"


_SENTENCES: dict[type[Event], Callable[[Any], str]] = {
    events.LeagueOpened: lambda e: f"League {e.league_id} was opened for {e.game_type}",
    events.PlayerRegistered: lambda e: f"{e.display_name} registered as player {e.player_id}",
    events.PlayerReturned: lambda e: f"{e.player_id} registered again",
    events.RefereeRegistered: lambda e: (
        f"{e.display_name} registered as referee {e.referee_id}"
        + (", and waits for the organiser" if e.waiting is True else "")
    ),
    events.RefereeApproved: lambda e: f"Referee {e.referee_id} was let in",
    events.RefereeSetAside: lambda e: (
        f"{e.referee_id} was set aside: {', '.join(e.players)} forfeited, it said, and played"
    ),
    events.TokenRenewed: lambda e: f"{e.agent_id} was given a new token",
    events.TokenConfirmed: lambda e: f"{e.agent_id} uses its new token",
    events.EndpointChanged: lambda e: (
        f"The organiser said that {e.agent_id} is at {public_url(e.endpoint)}"
    ),
    events.EndpointProved: lambda e: f"{e.agent_id} proved that it listens at its end point",
    events.RegistrationDisplaced: lambda e: (
        f"{e.agent_id} was taken out: it registered at the end point of {e.by or 'another agent'}"
    ),
    events.PlayerRemoved: lambda e: f"The organiser removed {e.player_id}",
    events.StageStarted: lambda e: (
        f"Stage {e.stage} began with {counted(len(e.players), 'player')}"
    ),
    events.PlayerJoined: lambda e: f"{e.player_id}, who came late, plays from here on",
    events.TimeUp: lambda e: f"The time of stage {e.stage} is up: no further round of it begins",
    events.LeagueStarted: lambda e: f"The league began with {counted(len(e.players), 'player')}",
    events.RoundScheduled: lambda e: (
        f"Round {e.round_id} has {counted(len(e.matches), 'match', 'matches')}"
    ),
    events.LossAccepted: lambda e: f"After a loss: {match_result.loss_in_words(e)}",
    events.MatchAssigned: lambda e: f"{e.match_id} was given to {e.referee_id} because {e.why}",
    events.MatchBegun: lambda e: f"{e.match_id}: its referee said that it runs",
    events.MatchLocked: lambda e: f"{e.match_id}: lock {e.index} drew {e.value}",
    events.MatchDecided: _result,
    events.MatchClosed: lambda e: f"{e.match_id} is closed: its players were told",
    events.Disputed: lambda e: f"{e.match_id} is disputed: {match_result.dispute_in_words(e)}",
    events.MatchRuled: lambda e: f"{e.match_id}: {match_result.ruling_in_words(e)}",
    events.TokenMisused: lambda e: f"{e.agent_id}: {match_result.misuse_in_words(e)}",
    events.TokenShown: lambda e: f"{e.agent_id} showed its token",
    events.DialectLearnt: lambda e: f"{e.agent_id} is spoken to in {in_words(e.dialect)}",
    events.RoundEnded: lambda e: f"Round {e.round_id} is over",
    events.Told: lambda e: f"Everybody was told: {e.what} of round {e.round_id}",
    events.LeaguePaused: lambda e: "The organiser paused the league",
    events.LeagueContinued: lambda e: "The organiser let the league go on",
    events.LeagueEnded: _ended,
}
