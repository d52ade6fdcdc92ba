"""How a match is started at a foreign referee, seen from the manager."""

import pytest

from agentleague.dialects import starting
from agentleague.errors import NoAnswer, NoConnection, PeerRefused, RateLimited
from agentleague.games import even_odd
from agentleague.league.events import DialectLearnt, Disputed, MatchAssigned, MatchDecided
from agentleague.manager.keys import (
    ControlCall,
    ErrorCall,
    LeaseCheck,
    NewRefereeAnswersDue,
    OutboxCall,
    RefereeWaitOver,
    RoundStartDue,
    StartAgain,
    StartCall,
    TableDue,
)
from agentleague.manager.leases import longest_match
from agentleague.manager.role import Manager
from agentleague.protocol.messages import (
    GameOver,
    LeagueRegisterRequest,
    LeagueStandingsUpdate,
    MatchResultReport,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
    ResultDetails,
    RoundAnnouncementAck,
)
from agentleague.roles.effects import Call, Drop, Record, Reply, WakeAt
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from rules import rule

BEGAN = 1_700_000_000.0
SECRETS = Secrets(b"d" * 32, b"t" * 32, "adm_secret")
KEY, CONTROL, AGAIN = StartCall("R1M1"), ControlCall("R1M1"), StartAgain("R1M1")
UNKNOWN = PeerRefused("no such method", number=-32601, code=None, data={})
UNFIT = PeerRefused("no", number=-32602, code=None, data={})
OK, CLEAR = RoundAnnouncementAck('{"status":"ok"}'), RoundAnnouncementAck()
WON = MatchResultReport("R1M1", ReportedResult("P01"))


class Writing(Manager):
    """Keeps what it records, as a journal does."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.journal = []

    def handle(self, stimulus, now):
        effects = super().handle(stimulus, now)
        self.journal += [each.event for each in effects if isinstance(each, Record)]
        return effects


class League:
    """A manager with two players, whose one match is handed to a foreign referee."""

    def __init__(
        self,
        referees=1,
        form="jsonrpc",
        *,
        names=("Ann", "Bob"),
        locks=False,
        capacity=None,
        **settings,
    ):
        players = len(names)
        terms = {"league_id": "league_test", "players": players, "referees": referees, **settings}
        self.parts = (ManagerSettings(**terms), SECRETS, even_odd)
        self.role = Writing(*self.parts)
        self.role.handle(Started(0.0), BEGAN)
        self.tokens, self.now = [], BEGAN
        for number in range(referees):
            url, most = f"http://127.0.0.1/{number}", capacity or players // 2
            meta = RefereeMeta(f"Ref {number}", url, max_concurrent_matches=most, locks=locks)
            caller = Caller("127.0.0.1", None, form, (), "register_referee")
            self.tokens.append(self.ask(RefereeRegisterRequest(meta), caller).auth_token)
        for name in names:
            meta = PlayerMeta(name, f"http://127.0.0.1/{name}")
            self.ask(LeagueRegisterRequest(meta), Caller("127.0.0.1"))
        self.effects = [
            each for player_id in self.role.league.roster.players for each in self.tell(player_id)
        ]

    def ask(self, message, caller):
        effects = self.role.handle(Asked(message, caller, 1), self.now)
        self.effects = effects
        return next(each.answer for each in effects if isinstance(each, Reply))

    def tell(self, agent_id):
        return self.role.handle(Answered(OutboxCall(agent_id), None, None, 0.1), self.now)

    def settle(self):
        """Everybody hears of the end of the round and of the next one."""
        for agent_id in ("P01", "P02", "P01", "P02", "P01", "P02", "REF01"):
            self.effects = [*self.effects, *self.tell(agent_id)]

    def restart(self):
        """The manager dies, and comes back with what it has written."""
        journal, self.role = self.role.journal, Writing(*self.parts)
        for event in journal:
            self.role.apply(event)
        self.effects = self.role.handle(Started(0.0), self.now)
        for call in [each for each in self.effects if isinstance(each, Call)]:
            if isinstance(call.key, OutboxCall):  # What may not have been told is told again.
                self.effects = [*self.effects, *self.tell(call.key.agent_id)]
        self.role.journal = [*journal, *self.role.journal]

    def answer(self, came, key=KEY, **more):
        is_error = isinstance(came, Exception)
        message, error = (None, came) if is_error else (came, None)
        self.effects = self.role.handle(Answered(key, message, error, 0.1, **more), self.now)
        return self.effects

    def wake(self, seconds, key=AGAIN):
        self.now += seconds
        self.effects = self.role.handle(Woken(key), self.now)
        return self.effects

    def check_leases(self, until):
        """Let time pass from check to check of the leases."""
        while not until():
            (check,) = [each for each in self.effects if isinstance(each, WakeAt)]
            self.wake(check.when - self.now, check.key)

    def report(self, message=WON, number=0):
        return self.ask(message, Caller("127.0.0.1", self.tokens[number]))

    def calls(self, key=KEY):
        found = [each for each in self.effects if isinstance(each, Call) and each.key == key]
        return [call.to.dialect for call in found]

    def events(self, kind):
        records = [each.event for each in self.effects if isinstance(each, Record)]
        return [event for event in records if isinstance(event, kind)]

    @property
    def speaks(self):
        return self.role.league.roster.dialects.get("REF01")


@rule("R-START-01", "R-START-03")
def test_a_referee_has_as_long_for_its_answer_as_the_match_may_take():
    league = League()

    (call,) = [each for each in league.effects if isinstance(each, Call) and each.key == KEY]

    rules = league.role.league.rules.rules
    assert call.until == BEGAN + longest_match(rules, 1)
    assert call.message.matches[0].match_id == "R1M1"
    assert call.to.dialect == "start_match/tool"


@rule("R-DIA-08", "R-START-01")
def test_the_form_of_its_registration_is_tried_first():
    league = League(form="bare")

    assert league.calls() == ["start_match/bare"]


@rule("R-START-01", "R-DIA-08")
def test_the_way_that_was_understood_is_journalled_and_used_from_there_on():
    league = League(cycles=2)

    for way in ("start_match/tool", "assign_match/tool"):
        assert league.calls() == [way]
        league.answer(UNKNOWN)
    league.answer(CLEAR)
    learnt = league.events(DialectLearnt)
    league.report()
    league.settle()

    assert learnt == [DialectLearnt("REF01", "match_assignment/tool")]
    assert league.calls(StartCall("R2M1")) == ["match_assignment/tool"]


@rule("R-START-02")
def test_an_ok_is_compared_with_the_answer_to_nonsense():
    league = League()

    league.answer(OK)
    asked = league.calls(CONTROL)
    league.answer(UNKNOWN, CONTROL)

    assert asked == ["no_such_method/tool"]
    assert league.speaks == "start_match/tool"


@rule("R-START-02")
def test_a_referee_that_says_ok_to_everything_may_report_before_another_way_is_tried():
    league = League()
    league.answer(OK)

    league.answer(OK, CONTROL)
    waits = [each for each in league.effects if isinstance(each, WakeAt)]
    league.report()

    assert waits == [WakeAt(AGAIN, BEGAN + 35.0)]  # To join, and to move.
    drops = [each for each in league.effects if isinstance(each, Drop)]
    assert drops == [Drop(KEY), Drop(CONTROL)]
    assert league.speaks == "start_match/tool"  # The last before it reported.
    assert league.wake(1.0) == []


@rule("R-START-02")
def test_each_further_way_is_given_half_the_time_but_a_second_at_least():
    league = League(join_seconds=2.0, move_seconds=6.0)
    league.answer(OK)
    league.answer(OK, CONTROL)

    seconds = []
    while len(seconds) < 6:
        (wait,) = [each for each in league.effects if isinstance(each, WakeAt)]
        seconds.append(wait.when - league.now)
        league.wake(seconds[-1])
        league.answer(OK)
        if league.calls(CONTROL):
            league.answer(OK, CONTROL)

    assert seconds == [8.0, 4.0, 2.0, 1.0, 1.0, 1.0]


@rule("R-START-02")
def test_without_a_report_the_next_way_follows_and_nonsense_is_told_once():
    league = League()
    league.answer(OK)
    league.answer(OK, CONTROL)

    league.wake(1.0)
    second = league.calls()
    league.answer(OK)

    assert second == ["notify_round/tool"]
    assert not league.calls(CONTROL)
    assert league.speaks is None


@rule("R-START-02")
def test_a_referee_that_said_ok_to_every_way_is_left_to_its_lease():
    league = League(referees=2)
    league.answer(OK)
    league.answer(OK, CONTROL)

    while league.calls() or league.calls(CONTROL) or league.wake(1.0):
        if league.calls():
            league.answer(OK)
        elif league.calls(CONTROL):
            league.answer(OK, CONTROL)

    assert not league.events(MatchAssigned)
    assert league.role.league.matches["R1M1"].referee_id == "REF01"
    (said,) = [each for each in league.role.news if "does not say" in each]
    assert said.startswith("R1M1: REF01 does not say whether it plays: tried in 8 forms")


@rule("R-START-02")
def test_a_way_that_was_understood_before_is_given_much_longer():
    league = League()
    league.role.apply(DialectLearnt("REF01", "start_match/tool"))
    longest = longest_match(league.role.league.rules.rules, 1)

    league.answer(OK)
    league.answer(OK, CONTROL)

    waits = [each for each in league.effects if isinstance(each, WakeAt)]
    assert waits == [WakeAt(AGAIN, BEGAN + 0.2 * longest)]


@rule("R-START-02")
def test_a_referee_that_took_long_to_report_is_given_as_long_for_each_way():
    league = League(cycles=2)
    league.answer(OK)
    league.answer(OK, CONTROL)
    league.wake(1.0)
    league.answer(OK)
    league.now += 5.0

    league.report()
    league.settle()
    league.answer(UNKNOWN, StartCall("R2M1"))
    league.answer(OK, StartCall("R2M1"))

    waits = [each.when - league.now for each in league.effects if isinstance(each, WakeAt)]
    assert waits == [7.0]  # Six seconds, and one more.


@rule("R-START-08")
@pytest.mark.parametrize("answers", [[(CLEAR, KEY)], [(OK, KEY), (UNKNOWN, CONTROL)]])
def test_after_a_restart_a_match_that_its_referee_runs_is_not_begun_again(answers):
    league = League()
    for came, key in answers:
        league.answer(came, key)

    league.restart()
    told = league.calls()
    league.report()

    assert told == []
    assert league.events(MatchDecided)


@rule("R-START-08")
@pytest.mark.parametrize("came", [OK, None])
def test_after_a_restart_a_match_of_which_its_referee_said_nothing_is_told_again(came):
    league = League()
    if came:
        league.answer(came)

    league.restart()

    assert league.calls() == ["start_match/tool"]


@rule("R-START-08")
def test_when_the_lease_of_a_match_that_ran_is_over_another_referee_gets_it():
    league = League(referees=2)
    league.answer(CLEAR)
    league.restart()

    league.check_leases(until=lambda: league.events(MatchAssigned))

    assert league.now - BEGAN >= longest_match(league.role.league.rules.rules, 1)
    assert league.role.league.matches["R1M1"].referees == ["REF01", "REF02"]


@rule("R-LEASE-03")
def test_a_player_that_hears_of_a_new_referee_after_that_has_begun_changes_nothing():
    league = League(referees=2)
    league.answer(CLEAR)
    league.restart()
    league.check_leases(until=lambda: league.events(MatchAssigned))
    league.wake(league.role._step.limits.new_referee_seconds, NewRefereeAnswersDue("R1M1"))
    assert league.calls() == ["start_match/tool"]

    late = [effect for player_id in ("P01", "P02") for effect in league.tell(player_id)]

    assert [each for each in late if isinstance(each, Call) and each.key == KEY] == []


@rule("R-START-08")
def test_after_a_restart_the_manager_tells_a_result_that_its_foreign_referee_may_not_have_told():
    league = League()
    league.answer(CLEAR)
    league.report()
    kinds = [type(event) for event in league.role.journal]
    del league.role.journal[kinds.index(MatchDecided) + 1 :]  # It was killed before it closed it.

    league.restart()

    told = [each.message for each in league.effects if isinstance(each, Call)]
    assert {each.player_id for each in told if isinstance(each, GameOver)} == {"P01", "P02"}


@rule("R-START-08")
def test_after_a_restart_a_referee_that_lost_a_match_gets_no_more_where_another_can():
    league = League(referees=2)
    league.role._assignments.reassign("R1M1", "REF01 was silent")
    league.role.journal.append(MatchAssigned("R1M1", 2, "REF02", "REF01 was silent"))

    league.restart()

    assert league.role._assignments.spread(2) == ["REF02", "REF02"]


@rule("R-START-03")
def test_an_answer_with_the_result_is_the_report():
    league = League()

    league.answer(MatchResultReport("R1M1", ReportedResult("Ann", {"P01": 1, "P02": 0})))

    (decided,) = league.events(MatchDecided)
    assert (decided.result.winner_player_id, decided.verified) == ("P01", False)
    assert league.role.league.table.row("P01").points == 3  # As we count them.
    assert league.speaks == "start_match/tool"


@rule("R-START-03")
def test_an_answer_that_breaks_the_rules_is_disputed():
    league = League()
    details = ResultDetails(drawn_number=4, choices={"P01": "even", "P02": "even"})

    league.answer(MatchResultReport("R1M1", ReportedResult("P01", {}, details)))

    assert [each.match_id for each in league.events(Disputed)] == ["R1M1"]


@rule("R-START-03")
def test_an_answer_that_somebody_forfeited_is_confirmed_where_nobody_vouches_for_the_referee():
    league = League(referees=2, referee_access="anyone")
    details = ResultDetails(status="TECHNICAL_LOSS")

    league.answer(MatchResultReport("R1M1", ReportedResult("P01", {}, details)))

    (assigned,) = league.events(MatchAssigned)
    assert (assigned.referee_id, assigned.claimed) == ("REF02", [("P02", "forfeited")])
    assert not league.role.league.decided_total


@rule("R-START-03")
def test_an_answer_after_the_report_changes_nothing():
    league = League()
    league.report()

    assert league.answer(MatchResultReport("R1M1", ReportedResult("P02"))) == []
    assert not league.role.league.matches["R1M1"].disputes


@rule("R-START-03", "R-ERR-12")
def test_an_answer_of_which_nothing_can_be_made_gives_the_match_to_another():
    league = League(referees=2)

    league.answer(MatchResultReport("R1M1", ReportedResult("P77")))

    (assigned,) = league.events(MatchAssigned)
    assert assigned.referee_id == "REF02"
    assert "'P77' does not play this match" in assigned.why
    (told,) = [e for e in league.effects if isinstance(e, Call) and e.key == ErrorCall("REF01")]
    assert told.message.original_message_type == "MATCH_RESULT_REPORT"
    assert "'P77' does not play this match" in told.message.error_message


def test_an_answer_to_an_aborted_league_decides_nothing():
    league = League()
    league.role.rounds.abort()

    assert not [each for each in league.answer(WON) if isinstance(each, Record)]


@rule("R-START-01")
@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (NoConnection("refused"), 1.0),
        (RateLimited("slow down", retry_after=7.0), 7.0),
        (RateLimited("at once", retry_after=1e-9), 1.0),
        (PeerRefused("busy with another match", number=None, code=None, data={}), 1.0),
        (PeerRefused("already running", number=-32000, code=None, data={}), 1.0),
    ],
)
def test_a_referee_that_is_busy_or_not_there_is_told_again(error, seconds):
    league = League()

    league.answer(error)
    waits = [each for each in league.effects if isinstance(each, WakeAt)]
    league.wake(seconds)

    assert waits == [WakeAt(AGAIN, BEGAN + seconds)]
    assert league.calls() == ["start_match/tool"]


def test_nobody_is_told_during_a_pause():
    league = League()
    league.answer(NoConnection("refused"))
    league.role.organiser.obey("adm_secret", "pause", {})

    league.wake(1.0)

    assert league.effects == [WakeAt(AGAIN, BEGAN + 2.0)]


@rule("R-START-04")
def test_when_no_way_is_understood_the_organiser_is_told_and_another_gets_the_match():
    league = League(referees=2)

    ways = []
    while league.calls():
        ways += league.calls()
        league.answer(UNFIT if "run" in ways[-1] else UNKNOWN)

    (assigned,) = league.events(MatchAssigned)
    assert assigned.referee_id == "REF02"
    (said,) = [each for each in league.role.news if "knows no way" in each]
    assert said.startswith("R1M1 goes to REF02: REF01 knows no way of ours to start a match: ")
    assert "notify_round: error -32601" in said
    assert "nearest: run_match/tool, which it knows, with other fields" in said
    assert len(ways) == len(set(ways))


@rule("R-START-04")
def test_the_organiser_is_told_where_there_is_no_other_referee_too():
    league = League()

    while league.calls():
        league.answer(UNKNOWN)

    said = [each for each in league.role.news if "knows no way" in each]
    assert [each[:40] for each in said] == ["R1M1: REF01 knows no way of ours to star"]
    assert not league.events(MatchAssigned)


@rule("R-START-01")
@pytest.mark.parametrize("number", [-32000, None])
def test_a_known_way_that_fails_gives_the_match_away_at_once(number):
    league = League(referees=2)
    league.role.apply(DialectLearnt("REF01", "start_match/tool"))

    league.answer(PeerRefused("player P01 is silent", number=number, code=None, data={}))

    (assigned,) = league.events(MatchAssigned)
    assert assigned.why == "REF01 answered: player P01 is silent"


def test_silence_is_left_to_the_lease():
    league = League(referees=2)

    assert league.answer(NoAnswer("no answer")) == []


@rule("R-START-01")
def test_a_player_that_comes_back_does_not_make_its_match_begin_anew():
    league = League()
    league.effects = []

    league.role._assignments.refresh("P01")

    assert not league.calls()


def test_after_the_report_no_timer_and_no_late_answer_starts_the_match_again():
    league = League(cycles=2)
    league.answer(NoConnection("refused"))
    league.wake(1.0)
    league.answer(OK)

    league.report()

    assert league.wake(1.0) == []
    assert league.answer(UNKNOWN, CONTROL) == []


def test_a_match_reported_before_its_round_began_does_not_hasten_the_next_round():
    league = League(cycles=2, round_notice_seconds=10.0)
    league.report()

    league.wake(10.0, RoundStartDue())
    early = league.calls(StartCall("R2M1"))
    league.settle()

    assert early == []
    assert league.calls(StartCall("R2M1")) == ["start_match/tool"]


@rule("R-LEASE-05")
def test_every_match_waits_its_full_time_for_a_referee():
    league = League(names=("Ann", "Bob", "Cid", "Dan"), referee_wait_seconds=300.0)
    while league.calls():
        league.answer(UNKNOWN)  # From here on the first match waits.
    league.answer(CLEAR, StartCall("R1M2"))
    league.role.news.clear()
    league.wake(2.5, LeaseCheck())
    # It is said that the second one is not reported; then it waits, too.
    league.check_leases(until=lambda: len(league.role.news) > 1)
    ends = league.now + 300.0

    league.wake(BEGAN + 300.0 - league.now, RefereeWaitOver())
    first, timer = league.events(MatchDecided), WakeAt(RefereeWaitOver(), ends)
    is_set = timer in league.effects
    league.wake(ends - league.now, RefereeWaitOver())

    assert [each.match_id for each in first] == ["R1M1"]
    assert is_set
    assert [each.match_id for each in league.events(MatchDecided)] == ["R1M2"]


@rule("R-LEASE-05")
def test_a_match_that_is_reported_while_it_waits_for_a_referee_is_not_told_again():
    league = League(cycles=2)
    league.check_leases(until=lambda: league.role.news[-2].startswith("No other referee is there"))

    league.report()
    league.settle()
    told = league.wake(600.0, RefereeWaitOver())

    assert told == []


def test_a_referee_that_cannot_start_one_match_is_given_its_next_one():
    league = League(names=("Ann", "Bob", "Cid", "Dan"), capacity=1)
    while league.calls():
        league.answer(UNKNOWN)

    assert league.calls(StartCall("R1M2"))


@rule("R-START-01")
def test_a_referee_is_started_by_who_answered_its_registration():
    league = League()
    meta = RefereeMeta("Another", "http://127.0.0.1/another")
    answer = league.ask(RefereeRegisterRequest(meta), Caller("127.0.0.1"))

    assert answer.sender == starting.SENDER == "league_manager:LM01"


@rule("R-START-01")
def test_a_method_that_a_referee_names_is_learnt_and_used_for_its_next_match():
    league = League(names=("Ann", "Bob", "Cleo"))
    said = PeerRefused("expected one of: conduct_game", number=-32601, code=None, data={})

    (call,) = [each for each in league.answer(said) if isinstance(each, Call)]
    league.answer(CLEAR, dialect=call.to.dialect)

    assert call.to.dialect == "by conduct_game/tool"
    assert league.events(DialectLearnt) == [DialectLearnt("REF01", "by conduct_game/tool")]


@rule("R-FLOW-04")
def test_the_table_follows_a_report_and_never_at_once_the_table_of_a_round_that_ended():
    league = League(names="ABCDEF", standings_seconds=5.0)
    reports = [MatchResultReport(f"R1M{n}", ReportedResult(None)) for n in (1, 2, 3)]

    def due():
        return [e.when - league.now for e in league.effects if getattr(e, "key", 0) == TableDue()]

    def tables():
        messages = [getattr(each, "message", None) for each in league.effects]
        return [each for each in messages if isinstance(each, LeagueStandingsUpdate)]

    league.report(reports[0])
    assert due() == [0.0]
    assert len(league.wake(0.0, TableDue())) == len(tables()) == 6

    league.report(reports[1])
    assert due() == [5.0]
    league.now += 1.0
    league.report(reports[2])  # The table of the round waits behind the one before.
    assert league.wake(4.0, TableDue()) == []  # Nothing is new.
