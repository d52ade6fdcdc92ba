"""Leagues by seed: whatever goes wrong in them, everything holds that can be expected."""

from typing import get_args

import pytest

from agentleague.league.formats.stages import FORMATS
from agentleague.player.role import Player
from agentleague.records.verify import verify
from agentleague.roles.settings import Late
from agentleague.simulation import scenarios
from agentleague.simulation.modes import MODES, attempt, simulate
from examples import examples
from simulation.crashing import a_league, some

CHAOS_SEEDS = 4_000


def broken(mode, seeds):
    """Seed -> violation."""
    reports = [simulate(mode, seed) for seed in seeds]
    hours = sum(each.seconds for each in reports) / 3600
    print(f"{mode}: {len(reports)} leagues, {hours:.1f} virtual hours")
    return {each.seed: each.violation for each in reports if each.violation}


@pytest.mark.parametrize("part", range(6))
def test_a_league_survives_chaos(part):
    assert broken("chaos", range(part * 30, part * 30 + 30)[: examples(30)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_in_a_calm_league_nobody_suffers_for_another(part):
    assert broken("calm", range(part * 10, part * 10 + 10)[: examples(10)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_a_league_ends_once_nothing_goes_wrong_any_more(part):
    assert broken("liveness", range(part * 8, part * 8 + 8)[: examples(8)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_nobody_gains_by_an_attack(part):
    assert broken("hostile", range(part * 8, part * 8 + 8)[: examples(8)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_seated_players_lose_nothing_by_lost_polls_and_a_manager_that_is_away(part):
    assert broken("seats", range(part * 20, part * 20 + 20)[: examples(20)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_a_league_of_two_managers_survives_what_happens_to_them_and_their_database(part):
    assert broken("standby", range(part * 40, part * 40 + 40)[: examples(40)]) == {}


@pytest.mark.parametrize("part", range(3))
def test_rounds_and_stages_of_any_format_survive_chaos(part):
    assert broken("formats", range(part * 12, part * 12 + 12)[: examples(12)]) == {}


def test_a_league_survives_a_crash_after_some_events():
    assert broken("exhaustive", some(examples(150), of=scenarios.crashes_total())) == {}


@pytest.mark.parametrize("kind", ["rule", "remove", "abort", "crash", "failing disk"])
def test_the_journal_of_a_league_in_trouble_can_be_verified(kind):
    scenarios = [MODES["chaos"](seed) for seed in range(300)]
    of_kind = [each for each in scenarios if any(fault.kind == kind for fault in each.faults)]

    for scenario in of_kind[:3]:
        league, violation = attempt(scenario)
        findings = verify(league.observer.rows, lambda name, game=scenario.agents.game: game)
        assert (violation, findings.difference) == ("", None), scenario.seed


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_league_survives_chaos_of_many_seeds(part):
    size = CHAOS_SEEDS // 10
    assert broken("chaos", range(part * size, (part + 1) * size)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_league_of_two_managers_survives_many_seeds(part):
    assert broken("standby", range(part * 200, part * 200 + 200)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_rounds_and_stages_of_any_format_survive_many_seeds(part):
    assert broken("formats", range(part * 200, part * 200 + 200)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_league_survives_a_crash_after_every_event(part):
    numbers = range(scenarios.crashes_total())[part::10]
    assert broken("exhaustive", numbers) == {}


@pytest.mark.slow
def test_many_calm_leagues_and_many_that_were_not_are_as_they_should_be():
    assert broken("calm", range(500)) == {}
    assert broken("liveness", range(500)) == {}
    assert broken("hostile", range(500)) == {}


def test_the_exhaustive_set_has_each_process_crash_after_each_event():
    total = scenarios.events_total(0)
    singles = [scenarios.exhaustive(number) for number in range(len(scenarios.CRASH_KINDS) * total)]

    crashes = {
        (fault.event, name)
        for scenario in singles
        for fault in scenario.faults
        if fault.kind == "crash"
        for name in fault.who
    }

    everybody = ["manager", "referee1", "referee2", *(f"player{n}" for n in range(1, 5))]
    assert crashes == {(event, name) for event in range(1, total + 1) for name in everybody}


def test_behind_the_single_crashes_come_pairs_and_then_the_next_league():
    size = scenarios.crashes_total(0)

    pair, following = scenarios.exhaustive(size - 1), scenarios.exhaustive(size)

    assert (pair.seed, len(pair.faults)) == (0, 2)
    assert (following.seed, following.faults[0].event, len(following.faults)) == (1, 1, 1)


def test_the_seeds_of_chaos_have_every_kind_of_trouble():
    scenarios = [MODES["chaos"](seed) for seed in range(300)]

    kinds = {fault.kind for scenario in scenarios for fault in scenario.faults}
    traits = {trait for scenario in scenarios for trait in scenario.agents.traits.values()}
    assert kinds == {
        "crash",
        "amnesia",
        "sleep",
        "one-way cut",
        "cut",
        "partition",
        "full disk",
        "failing disk",
        "slow disk",
        "pause",
        "rule",
        "remove",
        "abort",
        "arrive",
    }
    assert traits == {
        "slow",
        "late",
        "rude",
        "babbling",
        "mute",
        "impostor",
        "foreign",
        "false",
    }
    assert any(scenario.conditions.loss for scenario in scenarios)
    assert any(scenario.conditions.repeats for scenario in scenarios)
    assert any(scenario.wrong_clocks for scenario in scenarios)


def test_the_seeds_of_formats_have_every_format_policy_and_trouble():
    scenarios = [MODES["formats"](seed) for seed in range(200)]

    stages = [stage for each in scenarios for stage in each.settings["stages"]]
    kinds = {fault.kind for each in scenarios for fault in each.faults}
    assert {stage["format"] for stage in stages} == FORMATS.keys()
    assert {key for stage in stages for key in stage} >= {"best_of", "third_place", "seconds"}
    assert {each.settings["late"] for each in scenarios} == set(get_args(Late))
    assert {len(each.settings["stages"]) for each in scenarios} == {1, 2, 3}
    assert {each.latecomers for each in scenarios} == {0, 1, 2}
    assert {"crash at a turn", "arrive", "rule", "remove", "pause"} <= kinds
    drawn = [each for each in scenarios if each.settings["seeding"] == "random"]
    assert 0 < len(drawn) < len(scenarios)


def test_some_leagues_of_every_mode_have_another_format():
    for mode in MODES.keys() - {"exhaustive"}:
        assert any(MODES[mode](seed).settings.get("stages") for seed in range(30)), mode


def test_the_seeds_of_attacks_have_every_attacker():
    scenarios = [MODES["hostile"](seed) for seed in range(60)]

    kinds = {fault.kind for scenario in scenarios for fault in scenario.faults}
    traits = {trait for scenario in scenarios for trait in scenario.agents.traits.values()}
    assert (kinds, traits) == (
        {"crash", "flapping", "sleep", "pause"},
        {"holding", "meddling", "rude"},
    )
    assert {scenario.agents.capacity for scenario in scenarios} == {1, 2, 64}
    assert all(scenario.agents.thief for scenario in scenarios)
    assert any(scenario.sqlite for scenario in scenarios)


def test_a_league_in_which_time_stands_still_is_found():
    league = a_league()

    def again():
        league.clock.call_at(league.clock.now(), again)

    again()
    with pytest.raises(AssertionError, match="time stands still"):
        league.run()


def test_whatever_breaks_has_a_seed(monkeypatch):
    monkeypatch.setattr(Player, "registration_request", lambda player, now: 1 / 0)

    found = simulate("calm", 0)

    assert (found.mode, found.seed) == ("calm", 0)
    assert "ZeroDivisionError" in found.violation
