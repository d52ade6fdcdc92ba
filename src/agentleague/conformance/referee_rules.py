"""The rules for referees: how one registers, and the table of all their rules."""

from agentleague.conformance.peer import Peer
from agentleague.conformance.referee_answer_rules import ANSWERS, ENDINGS
from agentleague.conformance.referee_bench import REGISTRATION, RefereeBench
from agentleague.conformance.referee_failure_rules import FAILURES
from agentleague.conformance.referee_judging import (
    FIELDS,
    REGISTERED,
    expect_fields,
    field,
)
from agentleague.conformance.referee_match_rules import MATCHES
from agentleague.conformance.referee_report_rules import REPORTS
from agentleague.conformance.registering import expect_registration, registered
from agentleague.conformance.rules import Broken, NotReached, Rules, Tier
from agentleague.conformance.target import is_own
from agentleague.conformance.wire_rules import add_first_rules, add_wire_rules

REFEREE = Rules("referee")
MUST, SHOULD, ROBUST, PLUS = Tier
add_first_rules(REFEREE)


@REFEREE.rule("registration.is-understood", MUST)
def registration_is_understood(bench: RefereeBench) -> None:
    """A referee registers with REFEREE_REGISTER_REQUEST, its name and its end point.

    R-REG-01: document 001 section 2.1
    Mend: Send register_referee with `referee_meta` to the manager's /mcp when you start.
    """
    found = expect_registration(bench)
    if found.message is None:
        text = "`referee_meta` with a name and a contact_endpoint"
        raise Broken(f"{text}; it was not read: {found.incoming.error}", found.exchange())


@REFEREE.rule("registration.end-point-listens", MUST, needs=REGISTERED)
def end_point_listens(bench: RefereeBench) -> None:
    """A referee listens at the `contact_endpoint` that it registers.

    R-REG-12: document 001 section 2.1
    Mend: Register the URL at which others can call you, with the port where you listen.
    """
    found = registered(bench)
    if not is_own(bench.endpoint, bench.target.bind):
        raise NotReached(f"the kit calls no other machine, and it registered {bench.endpoint}")
    if not Peer(bench.endpoint, bench.limits).is_listening():
        raise Broken(f"somebody listens at {bench.endpoint}", found.exchange())


@REFEREE.rule("registration.has-all-fields", SHOULD, needs=REGISTERED)
def registration_has_all_fields(bench: RefereeBench) -> None:
    """A registration has every field that the documents give it.

    R-MSG-03: document 001 section 2.1
    Mend: Put display_name, version, game_types, contact_endpoint and max_concurrent_matches into
    `referee_meta`.
    Leniency: what is missing is filled in, and named in `warnings`
    """
    expect_fields(registered(bench), FIELDS[REGISTRATION])


@REFEREE.rule("registration.has-a-version", SHOULD, needs=("referee.registration.has-all-fields",))
def registration_has_a_version(bench: RefereeBench) -> None:
    """The version of a referee is MAJOR.MINOR.PATCH.

    R-REG-11: document 004 section 3.1.2
    Mend: Register a version such as "1.0.0".
    Leniency: any text is a version
    """
    found = registered(bench)
    version = field(found, "referee_meta.version")
    parts = version.split(".") if isinstance(version, str) else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise Broken("`referee_meta.version` such as 1.0.0", found.exchange())


@REFEREE.rule("registration.names-the-game", SHOULD, needs=("referee.registration.has-all-fields",))
def registration_names_the_game(bench: RefereeBench) -> None:
    """A referee lists its games in `game_types`, even_odd among them.

    R-MSG-05: document 004 section 3.1.2
    Mend: Register "game_types": ["even_odd"].
    Leniency: a referee that lists no games is taken to know all
    """
    found = registered(bench)
    games = field(found, "referee_meta.game_types")
    if not isinstance(games, list) or "even_odd" not in games:
        raise Broken('`game_types` with "even_odd"', found.exchange())


@REFEREE.rule(
    "registration.says-how-many-matches", SHOULD, needs=("referee.registration.has-all-fields",)
)
def registration_says_how_many(bench: RefereeBench) -> None:
    """`max_concurrent_matches` is a whole number from 1 on.

    R-LIM-09: document 004 section 3.1.2
    Mend: Register how many matches you can run at the same time, as a number.
    Leniency: without it a referee is given one match at a time
    """
    found = registered(bench)
    number = field(found, "referee_meta.max_concurrent_matches")
    if type(number) is not int or not 1 <= number <= 1000:
        raise Broken("`max_concurrent_matches` from 1 to 1000", found.exchange())


for table in (MATCHES, REPORTS, FAILURES, ANSWERS):
    for rule in table:
        REFEREE.add(rule)
add_wire_rules(REFEREE)
for rule in ENDINGS:
    REFEREE.add(rule)
