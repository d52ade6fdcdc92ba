"""`league seat`: the organiser makes a seat for a person, against a manager that runs."""

import re

from cli.test_organise import a_manager
from commands import league
from runtime.mcp_host import McpHost

CODE = "amber-falcon-tin-seven"


def test_the_organiser_makes_a_seat_and_its_link_is_the_players_own(tmp_path):
    cup = tmp_path / "cup"
    _, url = a_manager(cup, "--join-code", CODE)  # which the directory keeps

    made = league("seat", "Ann", "--dashboard", "http://127.0.0.1:8090", "--dir", cup)
    other = league("seat", "Bob", "--dashboard", "192.168.1.10:8090/", "--dir", cup)

    link = re.fullmatch(r"http://127\.0\.0\.1:8090/play/(seat_\w{32})\n", made.stdout)
    assert link
    assert made.stderr == (
        "Ann is P01. Whoever opens the link has this seat: give it to Ann alone.\n"
        "Only this machine can open it; for others, start the manager again, with: "
        "--dashboard-bind 0.0.0.0\n"
    )
    assert "Only this machine" not in other.stderr
    assert re.fullmatch(r"http://192\.168\.1\.10:8090/play/seat_\w{32}\n", other.stdout)
    host = McpHost(int(url.split(":")[2].removesuffix("/mcp")), bearer=link[1])
    assert host.call("join_league", name="")["player_id"] == "P01"
    kept = b"".join(path.read_bytes() for path in cup.rglob("*") if path.is_file())
    assert link[1].encode() not in kept


def test_a_link_that_was_lost_is_replaced_by_a_new_seat_and_the_command_says_how(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup)
    seat = ("seat", "Ann", "--dashboard", "192.168.1.10:8090", "--dir", cup)
    league(*seat)

    second = league(*seat).stderr
    league("remove", "P01", "--dir", cup, "--yes")
    league("remove", "P02", "--dir", cup, "--yes")

    assert "There is another Ann, P01. A link that was lost cannot be shown again" in second
    assert f"league remove P01 --dir {cup}" in second
    assert "There is another" not in league(*seat).stderr


def test_a_league_that_takes_nobody_from_a_browser_has_no_seat_for_a_person(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup, "--hosted-players", 0)

    refused = league("seat", "Ann", "--dashboard", "127.0.0.1:8090", "--dir", cup, check=False)
    nowhere = league("seat", "Ann", "--dir", tmp_path, check=False)
    pageless = league("seat", "Ann", "--dir", cup, check=False)

    assert refused.returncode == nowhere.returncode == pageless.returncode == 1
    assert "the manager shows no pages, and a person plays there" in pageless.stderr
    assert refused.stderr == (
        "Error: there is no seat for 'Ann': this league lets no models and no persons in "
        "(hosted_players = 0); ask the organiser\n"
    )
    assert "there is no organiser's key" in nowhere.stderr
