"""Who takes part: ids, names that are safe to print, and whose token is whose."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.events import (
    PlayerRegistered,
    PlayerReturned,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.league.roster import NAME_MAX, TOKENS_MAX, Roster, clean_name
from agentleague.protocol.hosts import places
from agentleague.protocol.tokens import channel_key, digest, match_token
from league.decisions import Decisions, token
from rules import rule


def roster_of(*names):
    roster = Roster()
    for name in names:
        player_id = roster.next_player_id()
        effective = roster.effective_name(name, player_id)
        roster.add_player(PlayerRegistered(player_id, effective, "http://x", "1", player_id))
    return roster


def shown(*names):
    return [member.display_name for member in roster_of(*names).players.values()]


@rule("R-LEAGUE-14")
@pytest.mark.parametrize(
    ("number", "player_id"),
    [(1, "P01"), (2, "P02"), (99, "P99"), (100, "P100"), (10_000, "P10000")],
)
def test_player_ids_count_from_p01_with_more_digits_when_needed(number, player_id):
    roster = Roster()
    roster.players = dict.fromkeys(range(number - 1))

    assert roster.next_player_id() == player_id


@rule("R-LEAGUE-14")
@pytest.mark.parametrize(("number", "referee_id"), [(1, "REF01"), (10, "REF10"), (100, "REF100")])
def test_referee_ids_count_from_ref01(number, referee_id):
    roster = Roster()
    roster.referees = dict.fromkeys(range(number - 1))

    assert roster.next_referee_id() == referee_id


@rule("R-LEAGUE-15")
def test_a_name_is_cleaned_of_what_is_harmful_to_print():
    for wanted, cleaned in [
        ("Agent Alpha", "Agent Alpha"),
        ("  Agent \t\n Alpha  ", "Agent Alpha"),
        ("Zoë 🦊 ИИ 智能体", "Zoë 🦊 ИИ 智能体"),  # any writing
        ("e\u0301", "\u00e9"),  # one spelling of the same letter
        ("a\x00b\x1b[31mred\x7f", "ab[31mred"),  # terminal codes
        ("left\u202eright\u2066\u200b\ufeff", "leftright"),  # turned or invisible text
        ("one\u2028two\u2029", "onetwo"),
        ("\ue000\U000f0000\ud800\U0010ffff", ""),  # private, half of a pair, unassigned
        ("a\u00a0\u3000b", "a b"),  # other spaces
        ("", ""),
        (" \u200b ", ""),
        ("\u3164\u2800\u115f\u1160\uffa0", ""),  # letters that nobody sees
        ("a\u3164\u2800b\uffa0", "a b"),
        ("x" * 51, "x" * 50),
        ("x" * 49 + " yz", "x" * 49),  # cut, without the space at the end
    ]:
        assert clean_name(wanted) == cleaned


@rule("R-LEAGUE-15")
@given(st.text(max_size=80))
def test_a_cleaned_name_is_one_line_of_at_most_50_visible_characters(wanted):
    name = clean_name(wanted)

    assert len(name) <= NAME_MAX
    assert name == name.strip()
    assert not {unicodedata.category(c) for c in name} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@rule("R-LEAGUE-16")
def test_no_two_players_are_shown_under_the_same_name():
    for names, effective in [
        (["Ann", "Bob"], ["Ann", "Bob"]),
        (["Ann", "Ann", "Ann"], ["Ann", "Ann (P02)", "Ann (P03)"]),
        (["Ann", "ANN"], ["Ann", "ANN (P02)"]),  # whatever the case
        (["Straße", "STRASSE"], ["Straße", "STRASSE (P02)"]),
        (["Ann", "\uff21\uff4e\uff4e"], ["Ann", "\uff21\uff4e\uff4e (P02)"]),  # full width
        (["ﬁne", "fine"], ["ﬁne", "fine (P02)"]),  # a ligature
        (["Ann", "A\u200bnn"], ["Ann", "Ann (P02)"]),  # alike once they are cleaned
        (["", "\x00"], ["P01", "P02"]),  # nothing left: the id
        (["P02", ""], ["P02", "P02 (P02)"]),
        (["x" * 50, "x" * 60], ["x" * 50, "x" * 44 + " (P02)"]),  # still 50 characters
        (["x" * 43 + " yyyyyy"] * 2, ["x" * 43 + " yyyyyy", "x" * 43 + " (P02)"]),
        # somebody took the very name that the suffix would have made
        (["Ann (P03)", "Ann", "Ann"], ["Ann (P03)", "Ann", "Ann (P03-2)"]),
        (
            ["Ann (P04)", "Ann (P04-2)", "ann", "Ann"],
            ["Ann (P04)", "Ann (P04-2)", "ann", "Ann (P04-3)"],
        ),
        (["x" * 44 + " (P03)", "x" * 50, "x" * 50], ["x" * 44 + " (P03)", "x" * 50, None]),
    ]:
        given_names = shown(*names)

        assert [name for name in given_names if name in effective] == [n for n in effective if n]
        folded = {unicodedata.normalize("NFKC", name).casefold() for name in given_names}
        assert len(folded) == len(names)
        assert max(map(len, given_names)) <= NAME_MAX


@rule("R-LEAGUE-17")
def test_a_league_token_is_its_agents_and_nobody_elses():
    roster = Decisions(2, referees=1).league.roster

    assert roster.owner(token("P01")) == "P01"
    assert roster.owner(token("P02")) == "P02"
    assert roster.owner(token("REF01")) == "REF01"


@rule("R-LEAGUE-17")
def test_any_other_token_is_nobodys():
    for shown_token in [
        None,
        "",
        token("P03"),  # not registered
        token("P01") + " ",
        token("P01").upper(),
        "tok_P01_",
        "P01",
        "\ud800",
        match_token(channel_key(token("P01")), "player>ref", "league_1", "R1M1", "P01", 1),
    ]:
        assert Decisions(2).league.roster.owner(shown_token) is None


@rule("R-LEAGUE-17")
def test_a_match_token_is_nobodys_even_if_it_were_stored():
    roster = Roster()
    roster.add_player(PlayerRegistered("P01", "Ann", "http://x", "1", digest("mtok_abc")))

    assert roster.owner("mtok_abc") is None


def renewed(roster, agent_id="P01", generation=2, endpoint="http://x", **more):
    """The agent's token of that generation, given to it."""
    fresh = f"tok_{agent_id}_{generation}"
    roster.renew(TokenRenewed(agent_id, digest(fresh), generation, endpoint, **more))
    return fresh


def used(roster, shown_token):
    event = roster.unconfirmed(shown_token)
    if event:
        roster.confirm(event)
    return event


@rule("R-REG-05")
def test_an_old_token_counts_until_the_new_one_is_first_used():
    roster = Decisions(2).league.roster
    old, new = token("P01"), renewed(roster)

    assert roster.acting(old) == roster.acting(new) == "P01"
    assert roster.digests_of(roster.member("P01")) == [digest(old), digest(new)]
    assert used(roster, old) is None
    assert roster.acting(old) == "P01"

    assert used(roster, new) == TokenConfirmed("P01", 2)

    assert (roster.owner(old), roster.acting(new)) == (None, "P01")
    assert roster.digests_of(roster.member("P01")) == [digest(new)]
    assert used(roster, new) is None  # Only its first use is worth a row.


@rule("R-REG-05")
def test_of_tokens_renewed_twice_the_one_that_is_used_stays_and_so_does_the_newer_one():
    roster = Decisions(1).league.roster
    second, third = renewed(roster), renewed(roster, generation=3)

    assert used(roster, second) == TokenConfirmed("P01", 2)

    assert roster.owner(token("P01")) is None
    assert roster.digests_of(roster.member("P01")) == [digest(second), digest(third)]
    assert used(roster, third) == TokenConfirmed("P01", 3)
    assert (roster.owner(second), roster.acting(third)) == (None, "P01")


@rule("R-REG-05")
def test_a_newer_token_that_is_used_ends_all_before_it_at_once():
    roster = Decisions(1).league.roster
    second, third = renewed(roster), renewed(roster, generation=3)

    used(roster, third)

    assert [roster.owner(each) for each in (token("P01"), second, third)] == [None, None, "P01"]
    assert roster.unconfirmed(second) is None


@rule("R-REG-05")
def test_an_agent_that_uses_none_of_its_new_tokens_has_a_few_of_them_at_most():
    roster = Decisions(1).league.roster
    given_tokens = [renewed(roster, generation=n) for n in range(2, 20)]

    counting = [each for each in given_tokens if roster.acting(each)]

    assert counting == given_tokens[1 - TOKENS_MAX :]
    assert roster.acting(token("P01")) == "P01"  # The one it uses is among them.
    assert roster.unconfirmed(given_tokens[0]) is None
    assert len(roster.digests_of(roster.member("P01"))) == TOKENS_MAX


@rule("R-REG-05")
def test_a_renewal_may_move_the_end_point_and_is_found_there_from_then_on():
    roster = roster_of("Ann", "Bob")

    renewed(roster, endpoint="http://y")

    assert roster.players["P01"].endpoint == "http://y"
    assert roster.returning("Ann", places("http://x")) == []
    assert roster.returning("Ann", places("http://y")) == [roster.players["P01"]]
    assert roster.returning("Bob", places("http://x")) == [roster.players["P02"]]


@rule("R-REG-06")
def test_a_renewed_referee_has_another_generation_and_perhaps_another_capacity():
    roster = Decisions(0, referees=1).league.roster

    renewed(roster, "REF01", endpoint="http://elsewhere", capacity=3)
    moved = roster.referees["REF01"]
    renewed(roster, "REF01", generation=3, endpoint="http://elsewhere")

    assert (moved.generation, moved.capacity, moved.endpoint) == (2, 3, "http://elsewhere")
    assert roster.referees["REF01"].capacity == 3
    assert roster.referee_of("tok_REF01_3") == "REF01"


@rule("R-REG-07")
def test_a_token_that_may_only_ask_is_its_players_and_lets_it_do_nothing():
    roster = Decisions(1).league.roster
    roster.add_token(PlayerReturned("P01", digest("tok_P01_2"), 2))

    assert (roster.owner("tok_P01_2"), roster.acting("tok_P01_2")) == ("P01", None)
    assert roster.acting(token("P01")) == "P01"
    assert (roster.acting(None), roster.acting("nobody's")) == (None, None)
    assert roster.digests_of(roster.member("P01")) == [digest(token("P01"))]


@rule("R-REG-07")
def test_a_token_that_may_only_ask_outlives_renewals_and_confirms_nothing():
    roster = Decisions(1).league.roster
    roster.add_token(PlayerReturned("P01", digest("tok_asks"), 2))
    used(roster, renewed(roster, generation=3))

    assert roster.unconfirmed("tok_asks") is None
    assert roster.owner("tok_asks") == "P01"
    assert roster.generations["P01"] == 3
