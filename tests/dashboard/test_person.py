"""A person joins in the browser and plays, over real HTTP, with forms alone."""

import json
import re
import select
import socket
from urllib.parse import urlsplit

import pytest

from commands import BIN, SECONDS, first_line, free_port, league, read_until, started
from dashboard.person import Person, form_of

CODE = "amber-falcon-tin-seven"
GAMES = ("even_odd", "rock_paper_scissors", "tic_tac_toe")
RULES = {
    "even_odd": "a number from 1 to 10 is drawn",
    "rock_paper_scissors": "both throw at once",
    "tic_tac_toe": "three in a row win",
}


def begin(home, *options, players=2, agents=1):
    """A manager, its referee, players that move at random, and the URL of its pages."""
    port = free_port()
    words = ("--port", port, "--players", players, "--dir", "cup", "--move-seconds", 60, *options)
    manager = started(BIN / "league", "manager", *words, cwd=home)
    first_line(manager)
    code = options[:2] if "--join-code" in options else ()
    for role in (("referee",), *[("player", "--strategy", "random")] * agents):
        more = (*code, "--manager", port, "--port", free_port())
        started(BIN / "league", *role, *more, cwd=home)
    return manager, port, dashboard(home)


def dashboard(home):
    process = started(BIN / "league", "dashboard", "cup", "--port", free_port(), cwd=home)
    said = read_until(process, "See it in a browser")
    return re.search(r"http://\S+", said)[0]


@pytest.mark.parametrize("game", GAMES)
def test_a_person_plays_a_league_of_each_game_with_forms_alone(tmp_path, game):
    _, _, url = begin(tmp_path, "--game", game, players=3, agents=2)
    ann = Person(url)

    ann.join("Ann <b>")
    end = ann.play()

    assert "Ann &lt;b&gt;" in "".join(ann.pages)
    assert RULES[game] in ann.pages[0] + ann.pages[1] + ann.pages[2]  # before they sit down
    assert f"<summary>How {game.replace('_', ' ')} is played</summary>" in "".join(ann.pages)
    assert "Ann <b>" not in "".join(page for page in ann.pages if "<html" in page)
    assert "<h1>The league is over</h1>" in end
    assert re.search(r"Ann &lt;b&gt;, you are number \d of 3\. .* is the champion with", end)
    assert re.search(r'<a href="/match/(R\dM1)">See \1</a>', end)
    assert "No clock runs" not in end
    assert "The final table" in end
    assert len(re.findall(r"(You won|You lost|A draw)</strong>", end)) == 2
    rows = json.loads(league("standings", "cup", "--json", cwd=tmp_path).stdout)
    assert [row["technical_losses"] for row in rows] == [0, 0, 0]
    if game == "tic_tac_toe":  # What has no other door than the board is drawn there.
        assert any("data-move=" in page for page in ann.pages)
    shown = [page.replace(f"={ann.seat};", "") for page in ann.pages]  # not the cookie itself
    assert not any(ann.seat in page for page in shown)


def test_the_link_of_a_seat_becomes_a_cookie_that_only_this_site_can_use(tmp_path):
    _, _, url = begin(tmp_path, agents=0)
    link = league("seat", "Ann", "--dashboard", url, "--dir", tmp_path / "cup").stdout.strip()
    seat = link.rpartition("/")[2]
    ann, secure = Person(url), Person(url)

    ann.open(f"/play/{seat}")
    at = ann.at
    page = ann.wait_for("waiting")  # as soon as the journal is read so far
    secure.open(f"/play/{seat}", **{"X-Forwarded-Proto": "https"})

    assert link == f"{url}play/{seat}"
    assert at == f"{url}play"  # The seat has left the address.
    assert "Ann, you have a seat" in page
    (cookie,) = ann.jar
    assert (cookie.value, cookie.path, cookie.secure) == (seat, "/play", False)
    kept = vars(cookie)["_rest"]
    assert "HttpOnly" in kept
    assert kept["SameSite"].lower() == "strict"
    assert next(iter(secure.jar)).secure
    assert "no-store" in ann.pages[-1].lower()
    assert seat not in ann.pages[-1]


def test_what_another_site_sends_is_refused_and_changes_nothing(tmp_path):
    _, _, url = begin(tmp_path)
    ann = Person(url)
    ann.join("Ann")
    form = form_of(ann.wait_for("your_turn"))

    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        for path in ("/play/move", "/play/leave", "/play/join"):
            ann.open(path, form, **headers)
            assert ann.status == 403

    assert form_of(ann.wait_for("your_turn")) == form
    ann.open("/play/move", form, Origin=url.rstrip("/"), **{"Sec-Fetch-Site": "same-origin"})
    assert ann.status == 200


def test_no_link_of_another_site_takes_a_person_from_their_seat(tmp_path):
    _, _, url = begin(tmp_path)
    ann, bob = Person(url), Person(url)
    ann.join("Ann")
    ann.wait_for("your_turn")
    seat, other = ann.seat, f"seat_{'0' * 32}"

    shown = {
        path: ann.open_from_elsewhere(path)
        for path in ("/join", "/play", f"/play/{seat}", f"/play/{other}", f"/play/{other}?again")
    }
    bob.open_from_elsewhere(f"/play/{seat}")

    assert ann.seat == bob.seat == seat
    for path in ("/join", "/play", f"/play/{seat}"):
        assert 'data-status="your_turn"' in shown[path], path
    assert "This browser has the seat of Ann and keeps it" in shown[f"/play/{other}"]
    assert "allow cookies" in shown[f"/play/{other}?again"]
    assert not any(other in page for page in ann.pages)


def test_a_move_that_is_not_legal_is_explained_and_may_be_corrected(tmp_path):
    _, _, url = begin(tmp_path, "--game", "tic_tac_toe")
    ann = Person(url)
    ann.join("Ann")
    form = form_of(ann.wait_for("your_turn"))

    illegal = ann.open("/play/move", {**form, "move": "99"})
    status = ann.status
    unread = ann.open("/play/move", {**form, "move": "the middle"})
    scripted = ann.open("/play/move", {**form, "move": "99"}, Accept="application/json")
    late = ann.open("/play/move", {**form, "turn_id": "R9M9.1"})
    right = ann.open("/play/move", form)

    assert status == 409
    assert "99 is not legal here; send one of" in illegal
    assert "this is no JSON; write 4 for a number" in unread
    assert "99 is not legal here" in json.loads(scripted)["problem"]
    assert "that turn is not open" in late
    assert "wait_for_turn" not in illegal + unread + late
    assert 'id="problem"' not in right


def test_two_tabs_of_one_seat_show_the_same_and_one_move_counts(tmp_path):
    _, _, url = begin(tmp_path, "--game", "tic_tac_toe")
    one = Person(url)
    one.join("Ann")
    two = Person(url)
    two.open(f"/play/{one.seat}")
    form = form_of(one.wait_for("your_turn"))
    assert form_of(two.wait_for("your_turn")) == form

    one.open("/play/move", form)
    again = two.open("/play/move", {**form, "move": "8" if form["move"] != "8" else "7"})

    assert f"you played {form['move']} in that turn" in again
    two.play()
    # What others do may change the page between two looks.
    assert any(two.open("/play") == one.open("/play") for _ in range(20))


def test_a_seat_that_is_open_in_very_many_tabs_does_not_keep_others_waiting(tmp_path):
    _, _, url = begin(tmp_path, agents=0)
    ann = Person(url)
    ann.join("Ann")
    version = ann.state()["version"]
    asked = f"GET /play/state?version={version} HTTP/1.1\r\nHost: localhost\r\nCookie: "
    cookies = "; ".join(f"{each.name}={each.value}" for each in ann.jar)
    address = urlsplit(url)
    tabs = [socket.create_connection((address.hostname, address.port)) for _ in range(20)]
    for tab in tabs:
        tab.sendall(f"{asked}{cookies}\r\n\r\n".encode())

    refused = []
    while len(refused) < 4:  # The others are told when something happens.
        readable, _, _ = select.select([*{*tabs} - {*refused}], [], [], SECONDS)
        assert readable, len(refused)
        refused += readable

    assert [tab.recv(12) for tab in refused] == [b"HTTP/1.1 503"] * 4
    for tab in tabs:
        tab.close()


def test_who_may_not_sit_down_is_told_what_to_do(tmp_path):
    _, _, url = begin(tmp_path, "--join-code", CODE, "--hosted-players", 1)
    none, ann, bob = Person(url), Person(url), Person(url)

    nobody = none.open("/play")
    cut = none.open("/play/seat_short")
    strange = none.open(f"/play/seat_{'ab' * 16}")
    wrong = ann.join("Ann", join_code="wrong")
    nameless = ann.join(" ", join_code=CODE)
    ann.join("Ann", join_code=CODE)
    ann.join("Ann", join_code=CODE)  # A second click joins nobody else.
    full = bob.join("Bob", join_code=CODE)
    ann.wait_for("your_turn")
    late = bob.open("/play")

    assert "You have no seat here" in nobody
    assert '<a href="/join">' in nobody
    assert "not the whole link of a seat" in cut
    assert "has the seat of this link: another league may have been here" in strange
    assert "You have no seat here" in strange
    assert "join_code is not this league&#39;s" in wrong
    assert "name must have 1 to 50 letters" in nameless
    assert "takes 1 hosted player and no more (hosted_players = 1)" in full
    assert "No player has this seat" in late


def test_a_manager_that_is_away_is_said_and_the_person_plays_on_when_it_is_back(tmp_path):
    manager, port, url = begin(tmp_path)
    ann = Person(url)
    ann.join("Ann")
    ann.wait_for("your_turn")
    manager.kill()
    manager.wait()
    away = ann.open("/play")
    again = started(BIN / "league", "manager", "--port", port, "--dir", "cup", cwd=tmp_path)
    first_line(again)

    end = ann.play()

    assert "this page tries again by itself" in away
    assert "<h1>The league is over</h1>" in end
    again.kill()
    again.wait()
    assert "you are number" in ann.open("/play")  # The journal knows it too.


def test_who_was_too_late_is_told_so_and_how_often_they_are_asked_still(tmp_path):
    retries = ("--retries", 1, "--retry-delay-seconds", 3)  # Each state lasts until it is seen.
    _, _, url = begin(tmp_path, "--move-seconds", 3, *retries, agents=0)
    ann, bob = Person(url), Person(url)
    ann.join("Ann")
    bob.join("Bob")

    first, between, again = (ann.wait_for(each) for each in ("your_turn", "waiting", "your_turn"))
    end = ann.wait_for("over")

    assert "for attempt 1 of 2" in first
    assert "Too late" not in first
    assert "Round 1: you meet Bob in R1M1. Too late: your time for this move was over" in between
    assert "you are asked again soon (2 of 2)" in between
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in between  # the position stays
    assert "Too late: your time for this move was over. You are asked again, 2 of 2." in again
    assert "for attempt 2 of 2" in again
    assert "Too late" not in end
    assert "failed to respond within timeout" in end


def test_what_was_played_stays_on_the_board_while_the_other_thinks_and_a_bye_is_named(tmp_path):
    _, _, url = begin(tmp_path, "--game", "tic_tac_toe", players=3, agents=0)
    persons = {name: Person(url) for name in ("Ann", "Bob", "Cy")}
    for name, person in persons.items():
        person.join(name)
    seen = {}
    for _ in range(200):
        seen |= {name: person.open("/play") for name, person in persons.items()}
        if any("your_turn" in text for text in seen.values()):
            break
    mover = next(name for name, text in seen.items() if 'data-status="your_turn"' in text)
    form = form_of(seen[mover])

    after = persons[mover].open("/play/move", form)
    (bye,) = (name for name, text in seen.items() if "You have no match in round 1" in text)

    assert re.search(rf"Round 1: you meet (\w+) in R1M1. You played {form['move']}\.", after)
    assert after.count("data-move=") == 1  # the one that was played
    assert bye != mover


def test_who_leaves_has_left(tmp_path):
    _, _, url = begin(tmp_path, players=3)
    ann = Person(url)
    ann.join("Ann")

    left = ann.open("/play/leave", {})

    assert "You have left the league" in left
    assert "You have left the league" in ann.open("/play")


FREE_FORM = '''
"""Name a number from 1 to 1000; the larger one wins."""
from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome
name, seats = "large", ("A", "B")
def start(options): return {}
def to_move(state): return () if state else seats
def view(state, seat): return {"asked": "a number"}
def legal_moves(state, seat): return None
def example_moves(state, seat): return [1, 1000]
def check(state, seat, move):
    if type(move) is not int or not 1 <= move <= 1000:
        raise IllegalMove("a number from 1 to 1000")
def chance(state): return None
def play(state, moves, number): return dict(moves)
def outcome(state):
    if not state: return None
    a, b = state["A"], state["B"]
    return Outcome(None if a == b else "A" if a > b else "B", f"{a} against {b}")
'''


def test_a_game_that_lists_no_moves_takes_what_the_person_types(tmp_path):
    (tmp_path / "large.py").write_text(FREE_FORM)
    port = free_port()
    words = ("--game", "large.py", "--port", port, "--players", 2, "--dir", "cup")
    first_line(started(BIN / "league", "manager", *words, cwd=tmp_path))
    words = ("--game", "large.py", "--manager", port, "--port", free_port())
    started(BIN / "league", "referee", *words, cwd=tmp_path)
    url = dashboard(tmp_path)
    persons = [Person(url), Person(url)]
    for person, name in zip(persons, ("Ann", "Bob"), strict=True):
        person.join(name)

    for person, move in zip(persons, ("7", "700"), strict=True):
        text = person.wait_for("your_turn")
        turn = re.search(r'name="turn_id" value="([^"]+)"', text)[1]
        person.open("/play/move", {"turn_id": turn, "move": move})

    assert '"asked": "a number"' in text.replace("&#34;", '"')
    assert "Your move as JSON" in text
    end = persons[1].wait_for("over")
    assert "You won</strong> against Ann in round 1." in end
    assert "700 against 7" in end or "7 against 700" in end
