"""Tokens, each recomputed here from its definition."""

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from agentleague.protocol import tokens
from rules import rule
from tables import each_row

SECRET = bytes(range(32))
TOKEN = tokens.league_token(SECRET, "league_1", "P07", 2)


def signed(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@rule("R-TOK-01")
def test_a_league_token_is_signed_over_league_agent_and_generation():
    assert "tok_P07_" + signed(SECRET, "token|league_1|P07|2") == TOKEN


@rule("R-TOK-01")
@each_row(
    "other",
    [
        tokens.league_token(SECRET[::-1], "league_1", "P07", 2),  # another manager
        tokens.league_token(SECRET, "league_2", "P07", 2),
        tokens.league_token(SECRET, "league_1", "P08", 2),
        tokens.league_token(SECRET, "league_1", "P07", 3),  # registered once more
        tokens.session(SECRET, "league_1", "P07", 2),
    ],
)
def test_no_two_uses_share_a_token(other):
    assert other != TOKEN


def test_a_session_tells_a_referee_that_the_manager_speaks():
    session = tokens.session(SECRET, "league_1", "REF01", 1)

    assert session == "ses_" + signed(SECRET, "session|league_1|REF01|1")[:40]
    assert len(session) <= 64  # travels as an id


@rule("R-TOK-02")
def test_a_digest_is_the_sha256_of_the_token():
    assert tokens.digest(TOKEN) == hashlib.sha256(TOKEN.encode()).hexdigest()
    assert tokens.same(TOKEN, tokens.digest(TOKEN))
    assert not tokens.same(TOKEN + "x", tokens.digest(TOKEN))


@rule("R-TOK-02")
@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_may_be_shown_as_a_token(one, other):
    assert tokens.same(one, tokens.digest(one))
    assert tokens.same(one, tokens.digest(other)) is (one == other)


@rule("R-TOK-02")
@each_row("token", ["é", "🦘" * 20, "\ud800", "", "\0"])
def test_a_token_that_is_not_ascii_is_just_a_wrong_one(token):
    assert not tokens.same(token, tokens.digest(TOKEN))
    assert not tokens.same(TOKEN, token)


@rule("R-TOK-03", "R-TOK-04")
@each_row("direction", ["ref>player", "player>ref"])
def test_a_match_token_is_signed_with_a_key_that_no_referee_can_turn_back(direction):
    key = tokens.channel_key(TOKEN)
    token = tokens.match_token(key, direction, "league_1", "R1M1", "P07", 1)

    assert key == hashlib.sha256(b"channel|" + TOKEN.encode()).digest()
    assert token == "mtok_" + signed(key, f"{direction}|league_1|R1M1|P07|1")
    assert not token.startswith(tokens.LEAGUE_TOKEN)


@rule("R-TOK-03")
def test_a_match_token_is_good_for_one_match_epoch_player_and_direction():
    key = tokens.channel_key(TOKEN)
    uses = [
        ("ref>player", "league_1", "R1M1", "P07", 1),
        ("player>ref", "league_1", "R1M1", "P07", 1),
        ("ref>player", "league_2", "R1M1", "P07", 1),
        ("ref>player", "league_1", "R1M2", "P07", 1),
        ("ref>player", "league_1", "R1M1", "P08", 1),
        ("ref>player", "league_1", "R1M1", "P07", 2),
    ]

    assert len({tokens.match_token(key, *use) for use in uses}) == len(uses)


@rule("R-PROOF-01", "R-PROOF-02")
def test_a_proof_is_signed_over_the_body_with_a_key_of_league_agent_and_token():
    keys = [tokens.proof_key(token, "league_1", "P07") for token in (TOKEN, "tok_older")]
    shown = tokens.proof(keys, b"{}")

    derived = bytes.fromhex(signed(tokens.channel_key(TOKEN), "manager>agent|league_1|P07"))
    assert keys[0] == derived
    assert shown.split(",")[0] == signed(derived, "{}")
    assert tokens.is_proved(shown, keys[:1], b"{}")
    assert tokens.is_proved(shown, keys[1:], b"{}")


@rule("R-PROOF-03")
@each_row(
    ("token", "league_id", "agent_id", "body"),
    [
        ("tok_other", "league_1", "P07", b"{}"),
        (TOKEN, "league_2", "P07", b"{}"),
        (TOKEN, "league_1", "P08", b"{}"),
        (TOKEN, "league_1", "P07", b"{ }"),
    ],
)
def test_a_proof_is_good_for_one_token_league_agent_and_body(token, league_id, agent_id, body):
    shown = tokens.proof([tokens.proof_key(token, league_id, agent_id)], body)

    assert not tokens.is_proved(shown, [tokens.proof_key(TOKEN, "league_1", "P07")], b"{}")


@rule("R-PROOF-03")
@given(st.text(st.characters(max_codepoint=255)))
def test_any_text_may_be_shown_as_a_proof(shown):
    assert not tokens.is_proved(shown, [tokens.channel_key(TOKEN)], b"{}")
    assert not tokens.is_proved(shown, [], b"{}")


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_a_proof_is_the_hmac_of_the_standard_library_for_any_key(key, body):
    assert tokens.proof([key], body) == hmac.new(key, body, "sha256").hexdigest()
