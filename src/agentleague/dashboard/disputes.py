"""What waits for the organiser's word: disputes, results by one word alone, rulings, misuses."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from agentleague.dashboard import paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.match import rule_commands
from agentleague.dashboard.referee import approval
from agentleague.league import queries
from agentleague.league.match_result import loss_in_words, misuse_in_words
from agentleague.protocol.printable import one_line
from agentleague.records import match_story


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the page of disputes shows; the newest first."""
    league = view.league

    def page(matches: Mapping[str, None], field: str) -> dict[str, Any]:
        return paging.paged([*matches], params, field, lambda each: _match(view, each))

    waiting = sorted({*league.roster.waiting, *league.roster.set_aside})
    return {
        "disputed": page(league.disputed, "disputed"),
        "unconfirmed": page(league.unconfirmed, "unconfirmed"),
        "ruled": page(league.ruled, "ruled"),
        "referees": [
            {
                "referee": paging.agent(view, each),
                "state": queries.state_of(league, each),
                "command": approval(view, each),
            }
            for each in waiting
        ],
        "misuses": [
            {"agent": paging.agent(view, each), "words": list(map(misuse_in_words, found))}
            for each, found in league.misuses.items()
        ],
        "losses": [
            {"row": row, "words": loss_in_words(event)} for row, event in league.losses.items()
        ],
    }


def _match(view: LeagueView, match_id: str) -> dict[str, Any]:
    """A match in words; of an undecided one only who spoke for it."""
    told = view.match_facts(match_id)
    match = match_story.read(told)
    ending = told["ending"]
    ids = (match.player_A_id, match.player_B_id, match.referee_id)
    named = partial(paging.with_names, view, ids=ids)
    return {
        "match_id": match_id,
        "players": [paging.agent(view, each) for each in (match.player_A_id, match.player_B_id)],
        "referee": paging.agent(view, match.referee_id),
        "sentence": named(ending["sentence"]) if ending else "",
        "said": [named(one_line(each["words"])) for each in match.disputes],
        "unconfirmed": match.unconfirmed,
        "ruling": named(one_line(match.ruling.words, 500)) if match.ruling else "",
        "commands": rule_commands(view, match) if ending else [],
    }
