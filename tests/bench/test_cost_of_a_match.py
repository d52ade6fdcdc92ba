"""A match costs no more than these ceilings, in a small league and a large one; no clock is used.

A commit that makes a match cheaper lowers them; one that has to raise them says why.
"""

import pytest

from agentleague.league.standings import Table
from bench.cost import Cost, cost_in_memory, cost_over_http

# A match of even/odd among 10 players, all agents together, in a round that is neither the first
# nor the last: 7 requests of the match itself, and 6 or more to tell both of round and table.
CEILINGS = Cost(exchanges=15, bytes_sent=13_500, rows=3, commits=2, calls=835)
# The same over real HTTP, with what only a whole league has: its registrations and its end.
HTTP_CALLS, HTTP_COMMITS, HTTP_EXCHANGES = 1_220, 2, 16  # 1,150 alone, 1,211 beside other tests
GROWTH = 1.3  # at most so many times as much in a larger league
MESSAGE_BYTES = 10_240  # what a message may have, and what the table of a large league fills
TASKS = {"Origin._dial", "Probes._check"}  # They open connections.


@pytest.fixture(scope="module")
def costs():
    with pytest.MonkeyPatch.context() as patch:
        small = cost_in_memory(10, 7, patch)
    with pytest.MonkeyPatch.context() as patch:
        return {10: small, 100: cost_in_memory(100, 1, patch)}


def test_a_match_costs_no_more_than_it_did(costs):
    for what in Cost._fields:
        assert getattr(costs[10], what) <= getattr(CEILINGS, what), what


@pytest.mark.parametrize("what", ["exchanges", "rows", "commits", "calls"])
def test_a_match_costs_as_much_among_a_hundred_players_as_among_ten(costs, what):
    assert getattr(costs[100], what) <= GROWTH * getattr(costs[10], what)


def test_a_match_sends_more_bytes_only_until_the_table_fills_a_message(costs):
    broadcasts = costs[100].exchanges - 7
    rest = costs[10].bytes_sent

    assert costs[100].bytes_sent <= broadcasts * MESSAGE_BYTES + rest


def test_the_table_is_ranked_once_a_round_and_not_for_each_match(monkeypatch):
    rankings, rank = [], Table._ranking
    monkeypatch.setattr(Table, "_ranking", lambda table: rankings.append(table) or rank(table))

    cost_in_memory(20, 2, monkeypatch)

    assert len(rankings) <= 3 + 2  # For each of three rounds, at the start, and as it begins.


@pytest.mark.slow
def test_a_match_costs_as_much_among_a_thousand_players(costs, monkeypatch):
    thousand = cost_in_memory(1_000, 1, monkeypatch)

    for what in ("exchanges", "rows", "commits", "calls"):
        assert getattr(thousand, what) <= GROWTH * getattr(costs[10], what), what
    assert thousand.bytes_sent <= GROWTH * costs[100].bytes_sent


def test_over_http_no_request_has_a_task_of_its_own_and_a_match_has_its_ceilings(tmp_path):
    cost = cost_over_http(6, 2, tmp_path)

    assert set(cost.tasks) <= TASKS
    assert sum(cost.tasks.values()) <= cost.matches * cost.exchanges / 5, cost.tasks
    assert cost.calls <= HTTP_CALLS
    assert cost.commits <= HTTP_COMMITS
    assert cost.exchanges <= HTTP_EXCHANGES
