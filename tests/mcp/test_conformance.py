"""The official conformance suite, against the manager of a league that offers what it calls, too.

What remains failing is in conformance-*.yml, each with its reason: the suite ends with an error if
another check fails, and also if one that is listed there passes.
"""

import sys

import pytest
from mcp.foreign_software import HERE, needs_node, node_command

from commands import run, started

pytestmark = [pytest.mark.slow, needs_node]
REVISIONS = ("2025-11-25", "2026-07-28")


@pytest.fixture
def manager():
    """Its end point."""
    return started(sys.executable, HERE / "conformance_server.py").stdout.readline().strip()


def suite(url, *options):
    done = run(node_command("conformance", "server", "--url", url, *options))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_check_of_a_revision_fails_but_those_that_are_explained(revision, manager):
    explained = HERE / f"conformance-{revision}.yml"

    code, said = suite(manager, "--requirements", revision, "--expected-failures", explained)

    assert code == 0, said


@pytest.mark.parametrize("scenario", ["http-header-validation", "json-schema-2020-12"])
def test_what_no_revision_requires_yet_passes_too(scenario, manager):
    code, said = suite(manager, "--scenario", scenario, "--spec-version", REVISIONS[1])

    assert code == 0, said
