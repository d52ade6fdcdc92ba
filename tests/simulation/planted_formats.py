"""Bugs of formats and stages to plant, as in planted.py; `formats` finds them all."""

from agentleague.league.events import StageStarted
from agentleague.league.formats import knockout, ladder, swiss
from agentleague.league.formats.stages import StageProgress
from agentleague.league.standings import Table
from agentleague.manager.rounds import Rounds
from agentleague.records import verify
from simulation.planted import Hunt


def swiss_forgets_who_met(monkeypatch):
    """A pair may meet again."""
    candidates = swiss._candidates

    def forgetful(*given):
        return [each._replace(met=set()) for each in candidates(*given)]

    monkeypatch.setattr(swiss, "_candidates", forgetful)


def swiss_forgets_who_rested(monkeypatch):
    """The last one has a bye again and again."""
    candidates = swiss._candidates

    def forgetful(*given):
        return [each._replace(may_rest=True) for each in candidates(*given)]

    monkeypatch.setattr(swiss, "_candidates", forgetful)


def losers_go_on(monkeypatch):
    """In a knockout."""
    score = knockout._score

    def reversed_score(players, games, options):
        found = score(players, games, options)
        others = [each for each in players if each != found.winner]
        return found._replace(winner=others[0]) if found.winner and others else found

    monkeypatch.setattr(knockout, "_score", reversed_score)


def a_knockout_is_ranked_by_points(monkeypatch):
    """How far somebody came is forgotten."""
    monkeypatch.setattr(knockout.Knockout, "merits", lambda *given: {})


def the_lowest_rests_always(monkeypatch):
    """In a ladder the same one has a bye twice running."""
    monkeypatch.setattr(ladder, "_resting", lambda free, played: free[-1])


def rulings_are_not_heeded(monkeypatch):
    """What follows is paired by what was before the organiser ruled."""
    monkeypatch.setattr(StageProgress, "replace", lambda *given: None)


def byes_count_twice(monkeypatch):
    """In the table."""
    count = Table.count_byes

    def twice(table, players, points):
        count(table, players, 2 * points)

    monkeypatch.setattr(Table, "count_byes", twice)


def who_was_removed_is_paired(monkeypatch):
    """The formats never hear of it."""
    played = StageProgress.played
    monkeypatch.setattr(StageProgress, "played", lambda progress, _: played(progress, frozenset()))


def a_stage_begins_again_after_a_restart(monkeypatch):
    """With the same players."""
    resume = Rounds._resume_round

    def again(rounds):
        progress = rounds._league.progress
        if progress.stage > 1:
            players = [each.player_id for each in progress.field]
            rounds._step.record(StageStarted(progress.stage, players))
        resume(rounds)

    monkeypatch.setattr(Rounds, "_resume_round", again)


def the_worst_go_on(monkeypatch):
    """To the next stage."""
    next_stage = StageProgress.next_stage

    def worst(progress, ranked, *given):
        return next_stage(progress, ranked[::-1], *given)

    monkeypatch.setattr(StageProgress, "next_stage", worst)


def a_later_stage_forgets_its_own_points(monkeypatch):
    """Those of all stages decide who goes on."""
    merits = StageProgress.merits

    def forgetful(progress, *given):
        found = merits(progress, *given)
        is_ranked = progress.format.name in ("knockout", "ladder")
        return found if is_ranked else {each: (stage, 0) for each, (stage, _) in found.items()}

    monkeypatch.setattr(StageProgress, "merits", forgetful)


def time_is_up_only_in_memory(monkeypatch):
    """That no further round begins is forgotten in a crash."""

    def forgotten(rounds, stage):
        rounds._league.progress.is_time_up = True

    monkeypatch.setattr(Rounds, "stage_time_due", forgotten)


def latecomers_wait_a_round_longer(monkeypatch):
    """Who joined is in the round after the next."""
    join = StageProgress.join

    def later(progress, *given):
        join(progress, *given)
        entrant = progress.field.pop()
        progress.field.append(entrant._replace(from_round=entrant.from_round + 1))

    monkeypatch.setattr(StageProgress, "join", later)


def latecomers_are_forgotten(monkeypatch):
    """When the next stage begins."""
    next_stage = StageProgress.next_stage

    def without(progress, ranked, removed, latecomers, *given):
        return next_stage(progress, ranked, removed, [], *given)

    monkeypatch.setattr(StageProgress, "next_stage", without)


def verify_ignores_pairings(monkeypatch):
    """It believes who met."""
    monkeypatch.setattr(verify, "_pairing_problem", lambda planned, event: iter(()))


HUNTS = {
    swiss_forgets_who_met: Hunt("formats", "meet again", 30),
    swiss_forgets_who_rested: Hunt("formats", "has its bye number 2", 36),
    losers_go_on: Hunt("formats", "lost before, and are out", 7),
    a_knockout_is_ranked_by_points: Hunt("formats", "first in a knockout", 7),
    the_lowest_rests_always: Hunt("formats", "has a bye again", 15),
    rulings_are_not_heeded: Hunt("formats", "is paired by", 19),
    byes_count_twice: Hunt("formats", "I3"),
    who_was_removed_is_paired: Hunt("formats", "without", 9),
    a_stage_begins_again_after_a_restart: Hunt("formats", "stage", 17),
    the_worst_go_on: Hunt("formats", "and the best are"),
    a_later_stage_forgets_its_own_points: Hunt("formats", "stage 3 begins with", 173),
    time_is_up_only_in_memory: Hunt("formats", "verify"),
    latecomers_wait_a_round_longer: Hunt("formats", "without"),
    latecomers_are_forgotten: Hunt("formats", "came late"),
    verify_ignores_pairings: Hunt("formats", "verify does not see", 6),
}
