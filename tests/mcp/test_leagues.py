"""Players of others, in the default modes of what they are built with, play with ours."""

from mcp.cup import Cup
from mcp.foreign_software import PLAYERS, needs_foreign_software

from agentleague.league.events import DialectLearnt, PlayerRegistered
from commands import league
from crash.cup import until

pytestmark = needs_foreign_software

# A player -> what it chooses, in odd rounds and in even ones; ours choose as they like.
CHOICES = {
    "mcp1_fastmcp": ("odd", "odd"),
    "mcp2_server": ("even", "even"),
    "mcp2_lowlevel": ("odd", "odd"),
    "fastmcp_default": ("even", "even"),
    "fastmcp_stateless": ("odd", "even"),
}
ALONE = ("mcp1_fastmcp", "mcp2_server", "fastmcp_default")  # They register by themselves.
WAITING = """
import pathlib, time

def choose(turn):
    if turn.round_id >= 3:
        pathlib.Path("waits").touch()
        while not pathlib.Path("go").exists():
            time.sleep(0.05)
    return "even"
"""


def opened(home, *, alone=ALONE, added=(), ours=("Ann", "Bob"), options=("--exit",)):
    """A league of these and some of ours, with a referee of ours; it begins by itself."""
    (home / "waiting.py").write_text(WAITING)
    cup = Cup(home, players=len(alone) + len(added) + len(ours), options=options)
    cup.ours("referee", "Referee")
    for name in ours:
        cup.ours("player", name, home / "waiting.py")
    cup.registers(*alone)
    cup.added(*added)
    return cup


def assert_all_played(cup, *, cycles=1):
    """Nobody lost a match for a technical reason, and each chose as it always does."""
    registered = [event for event in cup.events() if isinstance(event, PlayerRegistered)]
    names = {event.player_id: event.display_name for event in registered}
    assert len(cup.decided()) == cycles * len(names) * (len(names) - 1) // 2
    assert cup.lost() == {}, "\n".join(map(cup.said, cup.processes))
    for match in cup.decided():
        is_even = int(match.match_id[1:].partition("M")[0]) % 2 == 0
        for player_id, choice in match.result.choices.items():
            name = names[player_id]
            assert (name, choice) == (name, CHOICES.get(name, (choice, choice))[is_even])
    assert "true. The champion is" in league("verify", cup.directory).stdout


def learnt(cup):
    """Who is spoken to how, in the order in which it was found out."""
    events = [event for event in cup.events() if isinstance(event, DialectLearnt)]
    return [(event.agent_id, event.dialect) for event in events]


def test_players_of_others_play_a_whole_league_without_a_technical_loss(tmp_path):
    (tmp_path / "go").touch()
    cup = opened(tmp_path, added=PLAYERS.keys() - ALONE)

    cup.ends()

    assert_all_played(cup)
    assert len({agent_id for agent_id, _ in learnt(cup)}) == len(PLAYERS)


def test_when_manager_and_referee_are_killed_each_is_spoken_to_as_before(tmp_path):
    cup = opened(tmp_path)
    until((tmp_path / "waits").exists, "a player thinks about its move")

    cup.kill("manager", "Referee")
    known = learnt(cup)
    cup.start("manager")
    cup.start("Referee")
    (tmp_path / "go").touch()
    cup.ends()

    assert_all_played(cup)
    assert learnt(cup) == known


def test_a_player_that_was_started_again_knows_no_session_and_plays_on(tmp_path):
    cycles = ["--cycles", 4, "--exit"]
    cup = opened(tmp_path, alone=["mcp1_fastmcp"], ours=["Ann"], options=cycles)
    until((tmp_path / "waits").exists, "a player thinks about its move in the third round")

    cup.kill("mcp1_fastmcp")
    cup.start("mcp1_fastmcp", *cup.commands["mcp1_fastmcp"][:-1])  # It need not register again.
    until(lambda: cup.said("mcp1_fastmcp").count("Uvicorn running") == 2, "it listens again")
    (tmp_path / "go").touch()
    cup.ends()

    assert_all_played(cup, cycles=4)
    assert "404 Not Found" in cup.said("mcp1_fastmcp")  # So it forgot what we knew.
