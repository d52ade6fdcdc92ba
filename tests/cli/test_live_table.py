"""The live table: what is shown of a league that goes on, on terminals of any size."""

from rich.cells import cell_len

from agentleague.cli.live_table import Changes, picture
from agentleague.cli.progress import waits
from hostile.nasty_names import NASTY
from hostile.printable_check import assert_harmless


def status(rounds=2, decided=4, **more):
    return {
        "league_id": "cup",
        "status": "RUNNING_LEAGUE",
        "current_round": rounds + 1,
        "total_rounds": 11,
        "rounds_completed": rounds,
        "matches_completed": decided,
        "total_matches": 66,
        **more,
    }


def row(rank, name, player_id="", technical=0):
    facts = {"rank": rank, "player_id": player_id or f"P{rank:02}", "display_name": name}
    numbers = {"played": 3, "wins": 1, "draws": 1, "losses": 1, "points": 400 - rank}
    return facts | numbers | {"technical_losses": technical}


def drawn(facts, rows, size=(80, 24), changes=None):
    if changes is None:
        changes = Changes()
        changes.take(facts, rows, 0.0)
    return [*picture(facts, rows, changes, *size)]


def test_it_shows_how_far_the_league_is_who_leads_and_who_is_waited_for():
    awaited = ["P02 'Slow' to choose in R3M1: 24 s for attempt 1 of 4, 114 s in all"]
    players = {"player_A_id": "P01", "player_B_id": "P02", "names": {"P01": "Ann", "P02": "Bo"}}
    results = [
        {"match_id": "R2M1", "status": "WIN", "winner_player_id": "P02", **players},
        {"match_id": "R2M2", "status": "DRAW", "winner_player_id": None, **players},
        {"match_id": "R2M3", "status": "TECHNICAL_LOSS", "winner_player_id": "P01", **players},
    ]
    facts = status(awaited_answers=awaited, last_results=results, paused=True)

    lines = drawn(facts, [row(1, "Ann"), row(2, "Bo", technical=2)])

    assert "\n".join(line.plain for line in lines) == (
        "Round 3 of 11, paused  cup\n"
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  4 of 66 matches, 0.0/s\n"
        "Rank      Id   Name  Played  Won  Drawn  Lost  Techn.  Points\n"
        "   1      P01  Ann        3    1      1     1       0     399\n"
        "   2      P02  Bo         3    1      1     1       2     398\n"
        "\n"
        "Waiting for P02 'Slow' to choose in R3M1: 24 s for attempt 1 of 4, 114 s in all\n"
        "R2M1: P02 Bo beat P01 Ann\n"
        "R2M2: P01 Ann and P02 Bo drew\n"
        "R2M3: P02 Bo lost to P01 Ann by technical loss"
    )
    assert (lines[3].style, lines[4].style) == ("bold", "")
    assert [span.style for span in lines[4].spans] == ["bold red"]
    assert (lines[6].style, lines[9].style) == ("yellow", "red")


def test_it_shows_that_the_journal_cannot_be_written():
    going_on = drawn(status(journal="away"), [])
    registering = drawn(status() | {"current_round": 0, "journal": "full", "players": 2}, [])

    assert going_on[0].plain == "Round 3 of 11, the database is away  cup"
    assert registering[0].plain == "2 players and 0 referees are here, the disk is full  cup"


def test_it_shows_how_clear_it_is_who_is_better():
    bars = ["  mine is better   -3.66 ####---- +3.66  LLR +0.10", "  other is better  …"]

    lines = [line.plain for line in drawn(status(evidence=bars), [row(1, "mine")])]

    assert lines[2:4] == bars


def test_it_shows_who_rose_and_fell_since_the_last_round():
    changes = Changes()
    ann, bo, cy = ("P01", "P02", "P03")
    changes.take(status(1, 3), [row(1, "Ann", ann), row(2, "Bo", bo), row(3, "Cy", cy)], 0.0)
    rows = [row(1, "Cy", cy), row(2, "Ann", ann), row(3, "Bo", bo)]

    changes.take(status(1, 4), rows, 2.0)
    in_the_round = [changes.moved(each) for each in rows]
    changes.take(status(2, 5), rows, 4.0)
    at_its_end = [changes.moved(each) for each in rows]
    changes.take(status(2, 6), rows, 6.0)
    in_the_next = [changes.moved(each) for each in rows]

    assert in_the_round == at_its_end == ["▲2", "▼1", "▼1"]
    assert in_the_next == ["", "", ""]
    assert changes.rate() == 0.5


def test_it_fits_terminals_of_any_size():
    results = [{"match_id": "R1M1", "player_A_id": "P01", "player_B_id": "P02"}] * 5
    facts = status(awaited_answers=["P01 'x' to join in R3M1: 1 s"] * 9, last_results=results)
    wide = "\u6f22\u5b57" * 20
    for players in (2, 12, 500):
        rows = [row(rank, wide, technical=rank % 2) for rank in range(1, players + 1)]
        for size in ((200, 60), (80, 24), (64, 30), (63, 30), (40, 20), (20, 8), (10, 3), (1, 1)):
            lines = drawn(facts, rows, size)
            assert len(lines) <= size[1]
            assert max(cell_len(line.plain) for line in lines) <= size[0], size
    narrow = [line.plain for line in drawn(facts, rows, (40, 20))]
    assert narrow[3].endswith("       1     399")  # A number that is cut is a wrong number.
    assert narrow[12:14] == ["… 491 more players", ""]


def test_a_name_is_only_text():
    for name in NASTY.values():
        players = {"player_A_id": "P01", "player_B_id": name, "names": {"P01": name}}
        facts = status(
            league_id=name,
            awaited_answers=[name],
            awaited_reports=[name],
            last_results=[{"match_id": name, "winner_player_id": "P01", **players}],
        )
        for width in (80, 40):
            lines = drawn(facts, [row(1, name)], (width, 24))
            assert all("\n" not in line.plain for line in lines)
            assert_harmless("\n".join(line.plain for line in lines))
            assert {span.style for line in lines for span in line.spans} <= {
                *("green", "bright_black", "not bold dim")
            }


def test_a_foreign_manager_may_say_little_or_something_else():
    assert [line.plain for line in drawn({}, [])] == ["0 players and 0 referees are here  "]
    strange = {"current_round": "three", "players": None, "awaited_answers": None}
    assert [line.plain for line in drawn(strange, [])] == ["0 players and 0 referees are here  "]
    assert waits({"awaited_reports": ["R1M1"]}) == ["Not reported yet: R1M1"]
