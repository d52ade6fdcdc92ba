"""The page of a match tells what happened: who was asked what, what came, and why it ended so."""

import pytest

from browser.leagues import IMAGE, SCRIPT

pytestmark = pytest.mark.process


def rows(page, table):
    return [row.inner_text().split("\t") for row in page.locator(f"{table} tbody tr").all()]


def test_an_illegal_move_is_told_with_its_retry_and_what_to_change(faults, tab):
    page = tab(f"{faults}/match/R1M1")

    headline, said = page.inner_text("h1"), rows(page, ".talk")
    failed = page.locator(".talk .failed")
    assert headline.split("\n")[0].startswith(IMAGE)
    assert [row[1] for row in said] == [IMAGE, "Breaks", IMAGE, "Breaks", "Breaks"]
    assert failed.count() == 1
    assert '"<b>neither</b>"' in failed.inner_text()
    assert "To change: it should" in failed.inner_text()
    assert "attempt 2" in said[4][2]
    assert page.inner_text("#verdict .lead").startswith("The organiser ruled: no contest")
    assert "Before the ruling: A draw: Both chose even" in page.inner_text("#verdict")


def test_a_silent_player_was_asked_four_times_and_lost_without_a_game(faults, tab):
    page = tab(f"{faults}/match/R1M2")

    said = rows(page, ".talk")
    assert [row[1] for row in said[:2]] == [SCRIPT, "Silent"]
    assert [row[1] for row in said if row[4] == "never"] == ["Silent"] * 4
    assert said[-1][2] == "asked for even or odd, attempt 4 CHOOSE_PARITY_CALL"
    assert "lost without a game" in page.inner_text("#verdict .lead")
    assert "before the `deadline`" in page.inner_text("#verdict .advice")


def test_a_draw_is_proved_by_what_was_published_before_and_after(faults, tab):
    page = tab(f"{faults}/match/R2M1")

    proof = page.inner_text("#proof")
    assert "✓ Checked: yes." in proof
    assert "HMAC-SHA-256(seed," in proof
    assert "league verify" in proof
    assert "Disputed: REF02 spoke for it" in page.inner_text("#doubts")


def test_a_match_is_stepped_through_and_each_step_has_an_address(boards, tab):
    page = tab(f"{boards}/match/R1M1?turn=0")
    taken, last = [], page.locator(".turns tbody tr").count()
    while page.locator("#board a[rel=next]").count():
        taken.append(page.inner_html("#board figure svg"))
        page.click("#board a[rel=next]")
        page.wait_for_url(f"**/match/R1M1?turn={len(taken)}#board")
        assert page.inner_text(".turns .chosen td >> nth=0") == str(len(taken))

    assert len({*taken}) == len(taken) == last
    assert "three X in a row" in page.inner_text("#board figcaption")
    page.click("#board a[rel=prev]")
    page.wait_for_url(f"**?turn={last - 1}#board")
    assert page.inner_html("#board figure svg") == taken[-1]
