"""Leagues as pages see them, without a server: made by decisions, folded from their rows."""

from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.rendering import environment, live_link, render
from agentleague.storage.memory import MemoryJournal
from league.decisions import LEAGUE_ID


def view_of(events, **live):
    """The view of a league with these events; `live` is what its manager answered."""
    journal = MemoryJournal(lambda: 1_763_200_800.0)
    journal.claim(LEAGUE_ID)
    journal.append(LEAGUE_ID, 0, events, lambda heads: None)
    view = LeagueView(journal, LEAGUE_ID)
    for row in journal.read(LEAGUE_ID, 0):
        view.take(row)
    view.live = live
    return view


def page_of(view, name, **params):
    """A page as HTML."""
    page = PAGES[name]
    return render(environment(live_link), page, view, page.facts(view, params), params)
