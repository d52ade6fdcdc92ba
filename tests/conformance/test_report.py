"""What a report says of made-up outcomes: grade, leniencies, and every format of it."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from agentleague.cli.check_text import print_report
from agentleague.conformance import report_files
from agentleague.conformance.exchange import Answer, Exchange, without_secrets
from agentleague.conformance.report import Report, finding
from agentleague.conformance.rules import TIERS, Rule, Tier, Verdict
from agentleague.conformance.run import Outcome
from tables import each_row

PASS, FAIL, WARNING, NOT_APPLICABLE, NOT_REACHED = Verdict
MUST, SHOULD, ROBUST, PLUS = TIERS
HOSTILE = "<script>alert('\x1b[31m')</script>\"&'\u202e\ufffe\ud800 tok_P01_c0ffee ses_c0ffeec0ffee"


def outcome(tier, verdict, name="player.move.is-legal", number="R-MATCH-02", said="", **more):
    rule = Rule(
        id=name,
        tier=tier,
        number=number,
        source="document 004 section 5.1",
        says="A player says `accept`.",
        mend="Say it.",
        check=lambda bench: None,
        leniency=more.pop("leniency", ""),
    )
    return Outcome(rule=rule, verdict=verdict, said=said, **more)


def report(*outcomes, **more):
    return Report(
        **{"role": "player", "url": "http://127.0.0.1:8101/mcp"} | more, outcomes=[*outcomes]
    )


def hostile():
    """An agent that writes for terminals, browsers and parsers of XML, with tokens in it."""
    body = json.dumps({"result": HOSTILE, "auth_token": "tok_P01_c0ffee"}).encode()
    sent = Exchange(
        what=HOSTILE, sent=HOSTILE.encode(errors="replace"), answer=Answer(status=200, body=body)
    )
    return report(
        outcome(MUST, FAIL, "player.a", said=f"`x`, not {HOSTILE}", exchange=sent),
        outcome(SHOULD, WARNING, "player.b", said=HOSTILE, exchange=sent, leniency="it is read"),
        outcome(ROBUST, NOT_REACHED, "player.c", said=f"{HOSTILE} `"),
        outcome(PLUS, NOT_APPLICABLE, "player.d", said=HOSTILE),
        outcome(PLUS, PASS, "player.e", said=HOSTILE),
        url=f"http://127.0.0.1:8101/{HOSTILE}",
        speaks=[HOSTILE],
    )


@each_row(
    "must, should, robust, plus, grade",
    [
        (PASS, PASS, PASS, PASS, "A+"),
        (PASS, PASS, PASS, NOT_APPLICABLE, "A+"),
        (PASS, PASS, PASS, WARNING, "A"),
        (PASS, PASS, PASS, NOT_REACHED, "A"),
        (PASS, PASS, FAIL, PASS, "B"),
        (PASS, PASS, NOT_REACHED, PASS, "B"),
        (PASS, WARNING, PASS, PASS, "C"),
        (PASS, NOT_REACHED, PASS, PASS, "C"),
        (FAIL, PASS, PASS, PASS, "F"),
        (NOT_REACHED, PASS, PASS, PASS, "F"),
    ],
)
def test_the_grade_is_how_far_down_the_tiers_everything_passes(must, should, robust, plus, grade):
    verdicts = zip(TIERS, (must, should, robust, plus), strict=True)

    assert report(*(outcome(tier, each) for tier, each in verdicts)).grade == grade


def test_who_breaks_a_must_rule_that_our_league_forgives_plays_here_with_a_d_and_nowhere_strict():
    broken = outcome(MUST, FAIL, leniency="we read EVEN too")
    behind = outcome(MUST, NOT_REACHED, "player.next", said="needs player.move.is-legal")

    found = report(broken, behind)

    assert (found.grade, found.plays_here, found.plays_strictly) == ("D", True, False)
    (told,) = found.as_json()["leniencies"]
    assert told["because"] == (
        "plays here, would not play with a strict manager because it breaks this: "
        "a player says `accept`"
    )
    assert told["here"] == "we read EVEN too"


def test_what_could_not_be_tried_is_not_known():
    found = report(outcome(MUST, NOT_REACHED), outcome(SHOULD, PASS))

    assert found.meaning == "could not show all that no league can do without"
    assert report(outcome(MUST, FAIL)).meaning == "breaks what no league can do without"

    assert (found.plays_here, found.plays_strictly) == (None, None)


def test_a_part_of_the_rules_and_a_fault_of_the_kit_give_no_grade():
    assert report(outcome(MUST, PASS), is_part=True).grade == ""
    assert report(outcome(MUST, NOT_REACHED, fault="Traceback"), outcome(PLUS, PASS)).grade == ""


def test_a_number_has_the_worst_verdict_of_its_rules():
    rows = [("R-A-01", PASS), ("R-A-01", FAIL), ("R-A-01", WARNING), ("R-B-01", NOT_APPLICABLE)]
    outcomes = [outcome(MUST, x, f"player.{n}", number) for n, (number, x) in enumerate(rows)]
    more = [outcome(MUST, x, f"player.more-{x}", "R-B-01") for x in (PASS, NOT_REACHED)]

    found = report(*outcomes, *more).numbers()

    assert {number: found[number].verdict for number in ("R-A-01", "R-B-01")} == {
        "R-A-01": FAIL,
        "R-B-01": NOT_REACHED,
    }


@each_row(
    "number, verdict, why",
    [
        ("R-MATCH-02", PASS, ""),
        ("R-SEAT-01", NOT_APPLICABLE, "how our own league does it; nobody else need do so"),
        ("R-LEAGUE-09", NOT_APPLICABLE, "about managers and referees"),
        ("R-REG-11", NOT_REACHED, "about how it registers: "),
        ("R-PLAYER-04", NOT_REACHED, "it has to wait; --fast leaves it out"),
        ("R-TIME-02", NOT_REACHED, "not asked for"),
        ("R-MSG-10", NOT_APPLICABLE, "about managers"),
    ],
)
def test_every_number_has_a_verdict_and_a_reason_where_nothing_was_tried(number, verdict, why):
    names = ("name-is-short", "version", "sender")
    elsewhere = [f"player.registration.{each}" for each in names]

    told = report(outcome(MUST, PASS), left_out=["player.end.leaves"], unseen=elsewhere)

    found = told.as_json()["numbers"][number]
    assert found["verdict"] == verdict
    assert found["why"].startswith(why)
    assert bool(found["why"]) == bool(why)
    assert number in report_files.page(told, "1.0")


def test_what_is_known_does_not_count_until_it_passes():
    broken = outcome(MUST, FAIL, "player.a")
    behind = outcome(MUST, NOT_REACHED, "player.b", said="needs player.a")
    other = outcome(MUST, FAIL, "player.c")

    assert report(broken, behind, other, known=["player.a"]).unexpected(MUST) == [other]
    passing = outcome(MUST, PASS, "player.a")
    assert report(passing, known=["player.a"]).unexpected(MUST) == [passing]


def test_what_was_not_reached_has_the_reason_of_the_first_that_was_not():
    found = report(
        outcome(MUST, FAIL, "player.a"),
        outcome(MUST, NOT_REACHED, "player.b", said="needs player.a"),
        outcome(MUST, NOT_REACHED, "player.c", said="needs player.b"),
        outcome(MUST, NOT_REACHED, "player.d", said="it did not register"),
        outcome(MUST, NOT_REACHED, "player.e", said="needs player.d"),
    )

    assert found.reasons() == {
        "needs player.a: fail": ["player.b", "player.c"],
        "it did not register": ["player.d", "player.e"],
    }


@each_row(
    "tier, wrong",
    [
        (MUST, []),
        (SHOULD, ["player.b"]),
        (ROBUST, ["player.b", "player.c"]),
        (PLUS, ["player.b", "player.c", "player.d"]),
    ],
)
def test_a_tier_asks_for_itself_and_for_what_is_weightier(tier, wrong):
    found = report(
        outcome(MUST, PASS, "player.a"),
        outcome(SHOULD, WARNING, "player.b"),
        outcome(ROBUST, NOT_REACHED, "player.c"),
        outcome(PLUS, WARNING, "player.d"),
        outcome(PLUS, NOT_APPLICABLE, "player.e"),
    )

    assert [each.rule.id for each in found.unexpected(tier)] == wrong
    root = ElementTree.fromstring(report_files.junit(found, tier))
    failing = [x.get("name") for x in root.iter("testcase") if x.find("failure") is not None]
    assert failing == [each.rpartition(".")[2] for each in wrong]


def test_json_has_the_same_keys_for_every_report():
    keys = {
        *("role", "url", "at", "grade", "meaning", "plays_here", "plays_strictly", "speaks"),
        *("leniencies", "counts", "numbers", "rules", "left_out", "unseen", "known", "seconds"),
    }
    of_a_rule = {
        *("id", "verdict", "tier", "number", "source", "says", "said", "mend", "leniency"),
        *("sent", "came", "sent_by", "seconds", "tries"),
    }

    for each in (report(), hostile(), report(outcome(MUST, PASS))):
        assert set(each.as_json()) == keys
        assert all(set(row) == of_a_rule for row in each.as_json()["rules"])
        assert json.loads(json.dumps(each.as_json()))["counts"]["must"]["pass"] >= 0


def test_junit_says_what_failed_what_was_skipped_and_what_was_the_kits_own_fault():
    broken = outcome(MUST, FAIL, "player.a.b", said="`accept`: true")
    found = report(broken, outcome(PLUS, WARNING), outcome(MUST, NOT_REACHED, fault="Traceback"))

    suite = ElementTree.fromstring(report_files.junit(found, MUST)).find("testsuite")

    names = ("tests", "failures", "errors", "skipped")
    assert [suite.get(name) for name in names] == ["3", "1", "1", "1"]
    case = suite.find("testcase")
    assert (case.get("classname"), case.get("name")) == ("player.a", "b")
    assert case.find("failure").get("message") == "fail: `accept`: true"
    assert "mend: Say it." in case.find("failure").text
    assert suite.findall("testcase")[1].find("skipped").get("message").startswith("warning: ")


def test_no_format_lets_a_hostile_agent_through():
    found = hostile()
    texts = [
        json.dumps(found.as_json(), ensure_ascii=False),
        report_files.junit(found, PLUS),
        report_files.page(found, "1.0"),
        report_files.badge(found),
    ]

    for text in texts:
        assert "c0ffee" not in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe\ud800]", text)
        text.encode()
    for text in texts[1:]:
        assert "<script" not in text
    ElementTree.fromstring(texts[1])


class Tags(HTMLParser):
    """The elements of a page, and whether each that has to be closed is."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.addresses = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_in_itself_and_well_formed():
    for found in (hostile(), report(), report(outcome(MUST, PASS))):
        page = Tags()
        page.feed(report_files.page(found, "1.0"))

        assert page.open == []
        assert {"script", "img", "iframe"}.isdisjoint(page.seen)
        assert page.addresses == ["data:,"]


@each_row(
    "tier, verdict, shown",
    [(MUST, PASS, "A+"), (PLUS, WARNING, "A"), (MUST, FAIL, "F"), (None, None, "not graded")],
)
def test_the_badge_is_a_picture_with_the_grade(tier, verdict, shown):
    found = report(outcome(tier, verdict)) if tier else report(is_part=True)

    root = ElementTree.fromstring(report_files.badge(found))

    name = "{http://www.w3.org/2000/svg}"
    assert [each.text for each in root.iter(f"{name}text")] == ["league.v2", shown]
    assert root.find(f"{name}title").text.startswith(f"league.v2 player: {shown}, ")
    assert float(root.get("width")) > 80


def test_the_evidence_says_who_sent_it():
    exchange = Exchange(
        what="LEAGUE_QUERY", sent=b"{}", answer=Answer(status=200), is_from_agent=True
    )

    told = finding(outcome(MUST, FAIL, exchange=exchange))

    assert (told["sent_by"], told["sent"]) == ("agent", "LEAGUE_QUERY: {}")
    assert told["came"] == "HTTP 200 an empty body"


@each_row(
    "what, sent, shown",
    [
        (
            "a huge number",
            b"[" + b"9" * 900 + b"]",
            f"a huge number: [{'9' * 199} … {'9' * 119}] (902 bytes)",
        ),
        ("a body that is no message", b"", "a body that is no message (an empty body)"),
        ("GET at the end point", b"", "GET at the end point"),
        ("X", b"x" * 190 + b" ses_0123456789abcdef", f"X: {'x' * 190} ses_…"),
        (
            "X",
            b"y" * 193 + b" tok_P01_c0ffee " + b"z" * 200,
            f"X: {'y' * 193} tok_… … {'z' * 120} (409 bytes)",
        ),
    ],
)
def test_of_what_was_sent_the_beginning_and_the_end_are_shown(what, sent, shown):
    assert Exchange(what=what, sent=sent, answer=Answer()).shown()[0] == shown


def test_of_many_warnings_the_first_are_told_in_full_and_the_others_in_a_line_each(capsys):
    warnings = [outcome(SHOULD, WARNING, f"player.w{n}", said=f"`x`: {n}") for n in range(8)]

    print_report(report(*warnings), MUST)

    told = capsys.readouterr().out
    assert told.count("WARNING player.w") == 5
    assert "3 more warnings, and what was expected\n  In full with --html FILE;" in told
    assert "\n  player.w7  `x`: 7\n" in told


def test_lines_break_where_words_or_fields_end(capsys):
    body = b'{"a": "' + b"word " * 30 + b'", ' + b'"name":"value",' * 8 + b"}"
    sent = Exchange(what="X", sent=body, answer=Answer(status=200))

    print_report(report(outcome(MUST, FAIL, exchange=sent)), MUST)

    lines = capsys.readouterr().out.splitlines()
    start = next(n for n, line in enumerate(lines) if "sent " in line)
    end = next(n for n, line in enumerate(lines) if "came back" in line)
    assert end - start > 2
    assert all(line.endswith(("word", ",")) for line in lines[start : end - 1])


def test_a_tier_is_a_word_on_the_command_line():
    assert [Tier(word) for word in ("must", "should", "robust", "plus")] == [*TIERS]


@pytest.mark.parametrize(
    "secret",
    [
        "tok_P01_c0ffee",
        "tok-p01-abc123",
        "TOK_P01_abc.9-f",
        "mtok_0123abcd",
        "ses_0123456789",
        "0123456789abcdef0123456789abcdef",
        "eyJhbGciOi.eyJzdWIi.c2ln",
    ],
)
def test_no_token_of_any_form_is_shown(secret):
    said = f'{{"text": "Bearer {secret}", "auth_token": "{secret}"}} token={secret} {secret}'

    assert secret not in without_secrets(said)
    assert secret not in without_secrets(json.dumps({"content": said}))


def test_a_token_of_a_form_of_its_own_is_known_by_its_name():
    said = without_secrets('{"auth_token": "sesame", "match_id": "R1M1", "token": ""}')

    assert said == '{"auth_token": "…", "match_id": "R1M1", "token": ""}'
