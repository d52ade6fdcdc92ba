"""Seated players of a league whose processes are killed, and one behind a real firewall."""

import os
import subprocess
from threading import Event

import pytest

from agentleague.roles.agent import BY_SEAT
from commands import BIN, environment, free_port
from crash.cup import Cup, until


def a_cup(home, **more):
    """Two ordinary players, and two that only call out."""
    cup = Cup(home, **more)
    for name in cup.players[:2]:
        cup.commands[name] += ("--outbound",)
    return cup


def asked(cup):
    return (cup.home / "asked").exists()


@pytest.mark.parametrize("seconds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_manager_that_is_away_in_the_middle_of_a_match_costs_nobody_a_match(tmp_path, seconds):
    cup = a_cup(tmp_path)
    cup.held.touch()
    cup.open()
    until(lambda: asked(cup), "somebody is asked to move")

    cup.kill("manager")
    Event().wait(seconds)
    cup.held.unlink()
    cup.start("manager")

    cup.ends().check()
    if seconds > 5:
        assert "The manager does not answer." in cup.said("player-1")
        assert "The manager is back." in cup.said("player-1")


def test_a_seated_player_that_is_killed_in_the_middle_of_a_match_comes_back_to_its_seat(tmp_path):
    cup = a_cup(tmp_path)
    cup.held.touch()
    cup.open()
    until(lambda: asked(cup), "somebody is asked to move")

    for name in cup.players[:2]:
        cup.kill(name)
        cup.start(name)
    cup.held.unlink()

    cup.ends().check()
    assert cup.said("player-1").count("opens no port") == 2


def test_the_last_player_that_cannot_be_called_sits_down_before_the_league_starts(tmp_path):
    cup = Cup(tmp_path, players=2)  # Its manager exits with the league.
    last = cup.players[1]
    cup.commands[last] += ("--endpoint", f"http://127.0.0.1:{free_port()}/mcp")
    cup.start("manager")
    until(lambda: cup.url in cup.said("manager"), "the manager listens")
    for name in ("referee-1", "player-1"):
        cup.start(name)
        until(lambda name=name: "Registered as" in cup.said(name), f"{name} is in")

    cup.start(last)

    cup.ends().check()
    assert BY_SEAT in cup.said(last)
    assert "The league is over." in cup.said(last)


def may_unshare():
    words = ["unshare", "--net", "ip", "rule", "add", "ipproto", "tcp", "sport", "1-2", "blackhole"]
    try:
        return os.geteuid() == 0 and not subprocess.run(words, capture_output=True).returncode
    except OSError:
        return False


FIREWALL = """
set -e
ip link set lo up
unshare --net sleep 300 > /dev/null 2>&1 & inside=$!
trap "kill $inside" EXIT
until [ "$(readlink /proc/$inside/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
until ip link add outside type veth peer name inside netns $inside 2>/dev/null; do sleep 0.1; done
ip addr add 10.77.0.1/24 dev outside
ip link set outside up
into="nsenter --target $inside --net"
$into ip link set lo up
$into ip addr add 10.77.0.2/24 dev inside
$into ip link set inside up
# Whoever listens inside is never heard outside: nobody can connect to it.
$into ip rule add pref 1 ipproto tcp sport 8101-8200 blackhole
league manager --dir cup --players 2 --bind 10.77.0.1 --network lan --exit > manager.said 2>&1 &
manager=$!
until grep -q "manager is at" manager.said; do sleep 0.1; done
league player --strategy random --name Out --manager 10.77.0.1 > out.said 2>&1 &
$into league player --strategy random --name In --manager 10.77.0.1 > in.said 2>&1 &
until grep -q "joining through a seat" in.said; do sleep 0.1; done
code=$(sed -n 's/.*--referee-code \\([a-z-]*\\).*/\\1/p' manager.said | head -1)
league referee --port 8001 --manager 10.77.0.1 ${code:+--referee-code $code} > referee.said 2>&1 &
sleep 2
grep -q "It waits" referee.said && league approve REF01 --dir cup || true
wait $manager
league standings --dir cup --json
"""


@pytest.mark.slow  # A connection that nobody answers takes its time.
@pytest.mark.skipif(not may_unshare(), reason="needs root, unshare and ip")
def test_a_player_behind_a_firewall_notices_it_and_plays_through_a_seat(tmp_path):
    env = {**environment(), "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", FIREWALL],
        cwd=tmp_path,
        env={**env, "LEAGUE_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert BY_SEAT in (tmp_path / "in.said").read_text()
    assert '"technical_losses": 1' not in done.stdout
    assert "The league is over." in (tmp_path / "in.said").read_text()
