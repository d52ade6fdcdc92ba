"""The simulator runs the shipped code: the code does not know it, and nothing is built twice."""

import ast
from pathlib import Path

from agentleague.manager.role import Manager
from agentleague.player.role import Player
from agentleague.referee.role import Referee
from agentleague.runtime.host import Host
from simulation.crashing import running

PACKAGE = Path(__file__).parents[2] / "src" / "agentleague"
MAY_KNOW = {"simulation", "cli"}


def names_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.alias):
            yield getattr(node, "attr", "") or getattr(node, "name", "")


def test_nothing_that_is_shipped_knows_of_the_simulator():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] not in MAY_KNOW:
            assert not [name for name in names_in(path) if "simulat" in name.lower()], path


def test_of_the_commands_only_simulate_knows_of_it():
    for path in sorted((PACKAGE / "cli").rglob("*.py")):
        if path.name != "simulate.py":
            imported = [name for name in names_in(path) if name.startswith("agentleague.simul")]
            assert not imported, path


def test_the_roles_and_their_host_are_the_shipped_ones():
    league = running()

    kinds = {"manager": Manager, "referee1": Referee, "player1": Player}
    for name, kind in kinds.items():
        host = league.processes[name].host
        assert type(host) is Host
        assert type(host.role.role) is kind


def test_no_class_of_the_simulator_decides_as_a_role_does():
    for path in sorted((PACKAGE / "simulation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in ("Watched", "Probing"):
                methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                assert "handle" not in methods, f"{path}: {node.name}"
                bases = {getattr(base, "id", "") for base in node.bases}
                assert not bases & {"Manager", "Referee", "Player", "Agent", "Host"}
