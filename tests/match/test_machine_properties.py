"""Whatever arrives in whatever order, a match keeps its word."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentleague.errors import (
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.games import even_odd
from agentleague.match.machine import InvitationCall, MoveCall, Phase
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
)
from agentleague.roles.effects import Call
from agentleague.roles.stimuli import Caller
from examples import examples
from games.throwaway import THROWAWAY
from match.ann_and_bob import (
    PATIENT,
    answer,
    answered,
    decided,
    key_of,
    match_of,
    only,
    playing,
    step_of,
)
from match.virtual_match import Stage
from rules import rule

GAMES = [even_odd, *THROWAWAY.values()]
ids = st.sampled_from(["", "R1M1", "R1M1", "R9M9"])
moves = st.sampled_from(["even", "odd", 1, 2, 3, 6, 7, None, "x" * 2000, [], {"a": 1.5}, True])
answers = st.one_of(
    st.builds(GameJoinAck, match_id=ids, accept=st.sampled_from([True, True, False])),
    st.builds(ChooseParityResponse, moves, match_id=ids),
    st.builds(GameMoveResponse, moves, match_id=ids),
    st.builds(decided, st.sampled_from(["P01", "P02", None])),
    st.builds(LockResponse, st.just("R1M1"), st.integers(0, 2), st.sampled_from([None, 1, 3])),
    st.just(MatchResultAck()),
    st.none(),
)
errors = st.sampled_from(
    [
        NoAnswer("late"),
        NoConnection("away"),
        MissingField("no content"),
        RateLimited("later", retry_after=9.0),
        WrongType("accept: a bool"),
        PeerRefused("try again", data={"retryable": True}),
        PeerRefused("never", data={}),
    ]
)
stray = st.tuples(
    st.sampled_from(["join", "move", "lock", "over", "report", "error"]),
    st.sampled_from([-1, 0, 1]),
    st.integers(0, 3),
    st.integers(0, 3),
)
which = st.integers(0, 30)
scripts = st.lists(
    st.one_of(
        st.tuples(st.just("say"), which, answers),  # any call, old or new, gets any answer
        st.tuples(st.just("fail"), which, errors),
        st.tuples(st.just("stray"), stray, answers),  # an answer to what nobody asked
        st.tuples(st.just("wake"), st.none(), st.none()),
        *[st.tuples(st.just("go on"), st.none(), st.sampled_from([1, 2]))] * 12,
    ),
    min_size=4,
    max_size=30,
)


class Story:
    """A match and everything it did, effect by effect."""

    def __init__(self, game, script):
        self.game, self.match, self.now = game, match_of(game), 0.0
        self.calls, self.effects, self.phases = [], [], []
        self.keep(self.match.start(0.0))
        for what, which, value in script:
            self.now += 0.5
            self.keep(self.step(what, which, value))

    def keep(self, effects):
        self.effects += effects
        self.calls += [effect for effect in effects if isinstance(effect, Call)]
        self.phases.append(self.match.phase)

    def step(self, what, which, value):
        if what == "wake":
            return self.match.woken(self.now)
        if what == "stray":
            return self.match.answered(answered(key_of(*which), value), self.now)
        if what == "go on":
            return self.play_along(value)
        call = self.calls[which % len(self.calls)]
        return self.match.answered(answered(call.key, value), self.now)

    def play_along(self, made):
        """The last calls are answered as everybody hopes."""
        effects = []
        for call in self.calls[-2:]:
            goes_on = made == 1 and self.game.name == "dice"
            hoped_for = {
                "join": GameJoinAck("R1M1"),
                "move": GameMoveResponse("even" if self.game is even_odd else made),
                "lock": LockResponse("R1M1", 0, 3) if goes_on else decided(),
                "report": MatchResultAck(),
            }
            said = hoped_for.get(step_of(call))
            effects += self.match.answered(answered(call.key, said), self.now)
        return effects

    def said(self, cls):
        return [call.message for call in self.calls if isinstance(call.message, cls)]


@rule("R-MATCH-12", "R-MATCH-18")
@settings(max_examples=examples(300))
@given(st.sampled_from(GAMES), scripts)
def test_whatever_arrives_one_result_is_reported_and_the_phases_go_one_way(game, script):
    story = Story(game, script)

    assert len({repr(report.result) for report in story.said(MatchResultReport)}) <= 1
    order = list(Phase)
    backwards = [(a, b) for a, b in pairwise(story.phases) if order.index(b) < order.index(a)]
    # Only a number that was drawn leads back.
    assert set(backwards) <= {(Phase.LOCKING, Phase.PLAYING)}


@rule("R-MATCH-05", "R-MATCH-18")
@settings(max_examples=examples(200))
@given(st.sampled_from(GAMES), scripts)
def test_whatever_arrives_a_lock_has_one_move_per_player_and_turn_in_seat_order(game, script):
    for lock in Story(game, script).said(LockRequest):
        made = [(turn, who) for turn, who, _ in lock.moves]
        assert made == sorted(set(made))
        assert [who for who, _ in lock.forfeits] == sorted({who for who, _ in lock.forfeits})


@rule("R-MATCH-18")
@settings(max_examples=examples(100))
@given(st.sampled_from(GAMES), scripts)
def test_the_same_inputs_give_the_same_effects(game, script):
    once, twice = Story(game, script), Story(game, script)

    assert (once.effects, once.phases) == (twice.effects, twice.phases)


lines = st.tuples(
    st.sampled_from([0.0, 0.0, 0.4, 3.0, 29.0, 31.0, 40.0]), st.one_of(answers, errors)
)
play_scripts = st.fixed_dictionaries(
    {}, optional={step: st.lists(lines, max_size=6) for step in ("join", "move", "error", "over")}
)
pushers = st.sampled_from(
    [
        *(Caller("127.0.0.1", token) for token in ("mtok_from_ann", "mtok_from_bob")),
        *(Caller("127.0.0.1"), Caller("10.0.0.1"), Caller("127.0.0.1", "tok_wrong")),
    ]
)
pushed = st.one_of(
    st.builds(GameJoinAck, ids, st.sampled_from(["", "P01", "P02"])),
    st.builds(ChooseParityResponse, moves, ids, st.sampled_from(["", "P01", "P02"])),
)
push_scripts = st.lists(st.tuples(st.floats(0, 70), pushed, pushers), max_size=5)


@rule("R-MATCH-18")
@settings(max_examples=examples(300))
@given(play_scripts, play_scripts, push_scripts, st.integers(0, 3))
def test_whatever_players_do_the_match_ends_by_the_rules_time_with_one_result(
    ann, bob, pushes, retries
):
    rules = replace(PATIENT, retries=retries, join_retries=retries)
    stage = Stage(ann, bob, pushes=pushes, rules=rules).run()

    assert stage.is_closed
    joining, moving = (seconds * (retries + 1) + 2.0 * retries for seconds in (5.0, 30.0))
    assert stage.now <= joining + moving + 2 * rules.game_over_seconds or pushes
    for who in ("P01", "P02"):
        heard = [name for _, name in stage.heard(who)]
        for asked in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
            assert heard.count(asked) <= retries + 1 + 2
        assert heard.count("GAME_OVER") <= 2
        assert stage.result is None or "GAME_OVER" in heard
    assert len({repr((lock.index, lock.moves, lock.forfeits)) for lock in locks(stage)}) <= 1
    assert not [each for each in stage.open_calls if type(each) in (InvitationCall, MoveCall)]


def locks(stage):
    return stage.told(LockRequest)


outcomes = st.one_of(
    st.builds(ChooseParityResponse, st.sampled_from(["even", "odd"]), match_id=st.just("R1M1")),
    st.sampled_from([NoAnswer("late"), NoConnection("away"), RateLimited("later")]),
)


@rule("R-MATCH-05", "R-MATCH-18")
@settings(max_examples=examples(100))
@given(outcomes, outcomes)
def test_the_order_in_which_answers_arrive_changes_nothing(anns, bobs):
    def lock_after(*order):
        match, _ = playing()
        effects = [answer(match, "move", who, said) for who, said in order]
        return only(effects[-1], LockRequest)

    one, other = ("P01", anns), ("P02", bobs)
    assert lock_after(one, other) == lock_after(other, one)
