"""Who owns an end point, whoever came first: the table is the specification.

Ann listens at her end point, and Eve registers there too: before her or after her, with a claim or
without, under Ann's name or another. A listener of ours says yes to its own claim and no to every
other; a foreign one does not know the question; before an agent listens there is no connection.
"""

from msgspec import UNSET

from agentleague.errors import (
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    TokenInvalid,
    UnknownMethod,
)
from agentleague.games import even_odd
from agentleague.league.events import (
    LeagueEnded,
    LeagueStarted,
    MatchAssigned,
    RegistrationDisplaced,
    RoundScheduled,
    TokenRenewed,
)
from agentleague.manager import keys
from agentleague.manager.keys import ProofAgain, ProofCall
from agentleague.manager.role import Manager
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    EndpointProof,
    LeagueCommand,
    LeagueQuery,
    LeagueRegisterRequest,
    LockRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import digest
from agentleague.records.verify import verify
from agentleague.roles.effects import Call, Record, Reply, WakeAt
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from memory_league import BEGAN, SECRETS
from records.journals import rows_of
from rules import rule
from tables import each_row

ANNS = "http://10.0.0.7:8101/mcp"
BOBS = "http://10.0.0.8:8101/mcp"
EVES = "http://10.0.0.9:8101/mcp"
OURS, FOREIGN, NOBODY = "ours", "foreign", "nobody"
EMPTY = MissingField("ENDPOINT_PROOF: missing field 'proved'", field="proved")
UNKNOWN = PeerRefused("no such method", number=UnknownMethod.number, code=None, data={})


class Leagues:
    """A manager, and who listens where."""

    def __init__(self, events=(), limits=None, listeners=None, **settings):
        terms = ManagerSettings(**{"league_id": "league_test", "players": 9, **settings})
        self.settings = listeners.settings if listeners else terms
        self.manager = Manager(self.settings, SECRETS, even_odd, limits=limits)
        self.events, self.now, self.timers = [*events], BEGAN, {}
        self.claims = listeners.claims if listeners else {}  # end point -> its listener's claim
        self.foreign = listeners.foreign if listeners else {}  # end point -> what it answers
        self.asked = []  # whose claims were shown
        for event in events:
            self.manager.apply(event)
        self.feed(Started(0.0))

    @property
    def roster(self):
        return self.manager.league.roster

    def feed(self, stimulus):
        """Handle it, and what the listeners answer; timers wait for `pass_time`."""
        answer = None
        for effect in self.manager.handle(stimulus, self.now):
            if isinstance(effect, Record):
                self.events.append(effect.event)
            elif isinstance(effect, Reply):
                answer = effect.answer
            elif isinstance(effect, WakeAt):
                self.timers[effect.key] = effect.when
            elif isinstance(effect, Call) and isinstance(effect.key, ProofCall):
                self.asked.append(effect.key.agent_id)
                self.feed(Answered(effect.key, *self.heard_at(effect), 0.1))
        return answer

    def heard_at(self, call):
        if call.to.url in self.foreign:
            return None, self.foreign[call.to.url]
        if call.to.url not in self.claims:
            return None, NoConnection("nobody is there")
        return EndpointProof(digest(self.claims[call.to.url]) == call.message.claim_digest), None

    def pass_time(self):
        """All timers of open claims ring, until there are none."""
        while found := [key for key in self.timers if isinstance(key, ProofAgain)]:
            self.now = max(self.now, self.timers.pop(found[0]))
            self.feed(Woken(found[0]))

    def comes(self, name, url=ANNS, claim="", *, source="10.0.0.7", token=None):
        meta = PlayerMeta(name, url, "1.0.0", ["even_odd"], claim=claim or UNSET)
        return self.feed(Asked(LeagueRegisterRequest(meta), Caller(source, token), 1))

    def referees(self, name, url=ANNS, claim="", token=None):
        meta = RefereeMeta(name, url, "1.0.0", ["even_odd"], locks=True, claim=claim or UNSET)
        return self.feed(Asked(RefereeRegisterRequest(meta), Caller("10.0.0.9", token), 1))

    def resumed(self):
        """Another manager on what was recorded, with the same listeners."""
        return Leagues(self.events, listeners=self)

    def outcome(self, answer):
        """What came of a registration, when all is decided."""
        if answer.status == "REJECTED":
            return "refused"
        if answer.match_tokens is False:
            return f"asks {answer.player_id}"
        if answer.player_id in self.roster.displaced:
            return "out"
        proved = "proved" if self.roster.is_proved(answer.player_id) else "unproved"
        return f"{self.roster.players[answer.player_id].display_name} {proved}"

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


HERE, ELSEWHERE = "10.0.0.7", "10.0.0.9"  # Eve on Ann's machine, and on her own
# The listener; who is first; Eve's name, claim and machine; what becomes of Ann, and of Eve.
TABLE = [
    # Ann's agent is ours: whoever comes first, she has her seat and her name.
    (OURS, "Eve", "Ann", "", HERE, "Ann proved", "out"),
    (OURS, "Eve", "Ann", "hers", HERE, "Ann proved", "out"),
    (OURS, "Eve", "Leech", "", HERE, "Ann proved", "out"),
    (OURS, "Eve", "Leech", "hers", HERE, "Ann proved", "out"),
    (OURS, "Eve", "Ann", "", ELSEWHERE, "Ann proved", "out"),
    (OURS, "Eve", "Ann", "hers", ELSEWHERE, "Ann proved", "out"),
    (OURS, "Eve", "Leech", "", ELSEWHERE, "Ann proved", "out"),
    (OURS, "Eve", "Leech", "hers", ELSEWHERE, "Ann proved", "out"),
    (OURS, "Ann", "Ann", "", HERE, "Ann proved", "asks P01"),  # as anybody on her machine may
    (OURS, "Ann", "Ann", "hers", HERE, "Ann proved", "asks P01"),
    (OURS, "Ann", "Leech", "", HERE, "Ann proved", "refused"),
    (OURS, "Ann", "Leech", "hers", HERE, "Ann proved", "out"),
    (OURS, "Ann", "Ann", "", ELSEWHERE, "Ann proved", "refused"),
    (OURS, "Ann", "Ann", "hers", ELSEWHERE, "Ann proved", "out"),
    (OURS, "Ann", "Leech", "", ELSEWHERE, "Ann proved", "refused"),
    (OURS, "Ann", "Leech", "hers", ELSEWHERE, "Ann proved", "out"),
    # It is foreign: it cannot prove, but nobody can prove to be it; its address speaks for it.
    (FOREIGN, "Eve", "Ann", "hers", HERE, "Ann unproved", "out"),
    (FOREIGN, "Eve", "Leech", "hers", HERE, "Ann unproved", "out"),
    (FOREIGN, "Eve", "Ann", "", ELSEWHERE, "Ann unproved", "out"),
    (FOREIGN, "Eve", "Ann", "hers", ELSEWHERE, "Ann unproved", "out"),
    (FOREIGN, "Eve", "Leech", "", ELSEWHERE, "Ann unproved", "out"),
    (FOREIGN, "Eve", "Leech", "hers", ELSEWHERE, "Ann unproved", "out"),
    (FOREIGN, "Ann", "Ann", "", HERE, "Ann unproved", "asks P01"),
    (FOREIGN, "Ann", "Ann", "hers", HERE, "Ann unproved", "out"),
    (FOREIGN, "Ann", "Leech", "", HERE, "Ann unproved", "refused"),
    (FOREIGN, "Ann", "Leech", "hers", HERE, "Ann unproved", "out"),
    (FOREIGN, "Ann", "Ann", "", ELSEWHERE, "Ann unproved", "refused"),
    (FOREIGN, "Ann", "Ann", "hers", ELSEWHERE, "Ann unproved", "out"),
    (FOREIGN, "Ann", "Leech", "", ELSEWHERE, "Ann unproved", "refused"),
    (FOREIGN, "Ann", "Leech", "hers", ELSEWHERE, "Ann unproved", "out"),
    # Both foreign, on one machine, Eve first: nobody can tell them apart, and the first one stays.
    (FOREIGN, "Eve", "Ann", "", HERE, "asks P01", "Ann unproved"),
    (FOREIGN, "Eve", "Leech", "", HERE, "refused", "Leech unproved"),
    # Nobody listens yet. Ann's agent is foreign, or ours and has ended.
    (NOBODY, "Ann", "Leech", "", HERE, "Ann unproved", "refused"),
    (NOBODY, "Ann", "Leech", "hers", HERE, "Ann unproved", "out"),
    (NOBODY, "Eve", "Leech", "", ELSEWHERE, "Ann unproved", "out"),
]


@rule("R-OWN-02", "R-OWN-03")
@each_row(("listener", "first", "name", "claim", "machine", "ann", "eve"), TABLE)
def test_the_end_point_is_its_listeners_whoever_comes_first(
    listener, first, name, claim, machine, ann, eve
):
    league = Leagues()
    if listener == OURS:
        league.claims[ANNS] = "of Ann"
    elif listener == FOREIGN:
        league.foreign[ANNS] = UNKNOWN
    anns = "of Ann" if listener == OURS else ""
    answers = {}
    for who in ("Ann", "Eve") if first == "Ann" else ("Eve", "Ann"):
        own = ("Ann", ANNS, anns) if who == "Ann" else (name, ANNS, claim)
        answers[who] = league.comes(*own, source=HERE if who == "Ann" else machine)
    league.pass_time()

    assert (league.outcome(answers["Ann"]), league.outcome(answers["Eve"])) == (ann, eve)
    again = league.resumed()
    assert (again.outcome(answers["Ann"]), again.outcome(answers["Eve"])) == (ann, eve)


def ann_is_there(**settings):
    """A league with Ann, who proved that she listens at her end point, and Bob, who is foreign."""
    league = Leagues(**settings)
    league.claims[ANNS], league.foreign[BOBS] = "of Ann", UNKNOWN
    ann, bob = league.comes("Ann", claim="of Ann"), league.comes("Bob", BOBS, source="10.0.0.8")
    assert (league.outcome(ann), league.outcome(bob)) == ("Ann proved", "Bob unproved")
    return league, ann.auth_token, bob.auth_token


@rule("R-OWN-04")
def test_only_a_seat_that_was_proved_changes_its_end_point():
    league, ann, bob = ann_is_there()
    league.claims[EVES] = "of Ann"

    moved = league.comes("Ann", EVES, "of Ann", token=ann)
    stays = league.comes("Bob", "http://10.0.0.8:9/mcp", token=bob)

    assert league.outcome(moved) == "Ann proved"
    assert league.roster.players["P01"].endpoint == EVES
    assert (stays.status, stays.error_code) == ("REJECTED", "E043")
    assert "league set-endpoint P02 http://10.0.0.8:9/mcp" in stays.hint
    assert league.roster.players["P02"].endpoint == BOBS


@rule("R-OWN-04")
def test_with_its_token_nobody_moves_to_a_foreign_agents_end_point():
    league, _, _ = ann_is_there()
    eve = league.comes("Eve", EVES, "hers")
    league.claims[EVES] = "hers"
    league.pass_time()

    to_bob = league.comes("Eve", BOBS, "hers", token=eve.auth_token)
    to_ann = league.comes("Eve", ANNS, "hers", token=eve.auth_token)

    assert to_bob.status == "REJECTED"
    assert "P02 is registered at that end point" in to_bob.hint
    assert to_ann.status == "ACCEPTED"  # Ann's agent says no, and knows no match tokens of Eve's.
    assert league.outcome(to_ann) == "Eve unproved"
    league.now += 1.0
    home = league.comes("Eve", EVES, "hers", token=to_ann.auth_token)
    assert league.outcome(home) == "Eve proved"


def test_two_agents_of_ours_that_come_back_on_each_others_ports_are_both_there():
    league, ann, _ = ann_is_there()
    league.claims[EVES] = "hers"
    eve = league.comes("Eve", EVES, "hers", source=ELSEWHERE)

    league.claims |= {ANNS: "hers", EVES: "of Ann"}
    league.comes("Eve", ANNS, "hers", token=eve.auth_token)
    league.comes("Ann", EVES, "of Ann", token=ann)

    assert league.roster.is_proved("P01")
    assert league.roster.is_proved("P03")
    assert not league.roster.displaced


@rule("R-OWN-05")
def test_a_referee_whose_answer_was_lost_is_given_the_same_session_again():
    league = Leagues()
    first = league.referees("Owl", claim="of Owl")
    events = len(league.events)

    assert league.referees("Owl", claim="of Owl") == first
    assert len(league.events) == events
    assert league.referees("Owl", EVES, claim="of Owl").session != first.session


@rule("R-OWN-05")
def test_a_registration_whose_answer_was_lost_is_answered_again_to_the_one_who_knows_the_claim():
    league, ann, _ = ann_is_there()
    events = len(league.events)

    again = league.comes("Ann", claim="of Ann", source="10.9.9.9")

    assert (again.player_id, again.auth_token, again.match_tokens) == ("P01", ann, True)
    assert len(league.events) == events


def test_an_agent_with_an_old_token_and_a_new_claim_proves_the_new_one():
    league, _, bob = ann_is_there()
    del league.foreign[BOBS]
    league.claims[BOBS] = "of Bob"

    back = league.comes("Bob", BOBS, "of Bob", token=bob)

    assert league.outcome(back) == "Bob proved"
    assert league.of(TokenRenewed)[-1].claim_digest == digest("of Bob")
    assert league.comes("Bob", BOBS, "of Bob", token=bob).auth_token == back.auth_token


@rule("R-OWN-01")
def test_a_claim_is_shown_again_until_somebody_listens_and_again_after_a_restart():
    league = Leagues()
    ann = league.comes("Ann", claim="of Ann")
    league.feed(Woken(ProofAgain("P01")))
    assert league.asked == ["P01"] * 2

    again = league.resumed()
    assert (again.asked, again.outcome(ann)) == (["P01"], "Ann unproved")

    league.pass_time()
    assert league.outcome(ann) == "Ann unproved"  # Nobody disputes it.
    assert len(league.asked) == 9
    assert league.now - BEGAN < 120.0

    league.claims[ANNS] = "of Ann"
    assert league.resumed().outcome(ann) == "Ann proved"
    league.comes("Ann", claim="of Ann", token=ann.auth_token)
    assert league.outcome(ann) == "Ann proved"
    assert league.resumed().asked == []


@each_row(
    ("answer", "is_out"),
    [
        (UNKNOWN, True),
        (PeerRefused("what?", number=-32600, code=None, data={}), True),
        (EMPTY, False),
        (PeerRefused("HTTP 404", number=None, code=None, data={}, status=404), False),
        (PeerRefused("not this host", number=-32000, code="E043", data={}), False),
        (NoConnection("HTTP 502", status=502), False),
    ],
)
def test_who_answers_something_else_never_made_that_claim_but_a_proxy_proves_nothing(
    answer, is_out
):
    league = Leagues()
    league.foreign[ANNS] = answer

    eve = league.comes("Eve", claim="hers")
    league.pass_time()

    assert league.outcome(eve) == ("out" if is_out else "Eve unproved")


def test_where_something_else_is_answered_whoever_else_comes_from_there_is_believed():
    league = Leagues()
    league.foreign[ANNS] = EMPTY
    eve = league.comes("Eve", claim="hers")
    ann = league.comes("Ann")
    leech = league.comes("Leech", claim="leech")
    league.pass_time()
    assert [league.outcome(each) for each in (eve, ann, leech)] == ["out", "Ann unproved", "out"]

    del league.foreign[ANNS]
    league.claims[ANNS] = "of Ann"
    bob = league.comes("Bob", BOBS, "of Bob", source="10.0.0.8")
    league.foreign[BOBS] = EMPTY
    league.feed(Woken(ProofAgain("P04")))
    del league.foreign[BOBS]
    league.claims[BOBS] = "of Bob"
    league.pass_time()
    assert league.outcome(bob) == "Bob proved"
    assert league.comes("Eve", BOBS, source="10.0.0.8").status == "REJECTED"


def test_so_many_end_points_are_asked_at_a_time():
    league = Leagues(limits=ManagerLimits(challenges_max=2))
    calls = []
    league.heard_at = calls.append

    for number in range(4):
        request = LeagueRegisterRequest(
            PlayerMeta(f"P{number}", f"http://10.0.0.7:{number + 1}/mcp", claim=f"{number}")
        )
        asked = Asked(request, Caller(HERE), 1)
        calls += [e for e in league.manager.handle(asked, BEGAN) if isinstance(e, Call)]
    assert [call.key.agent_id for call in calls] == ["P01", "P02"]

    done = Answered(calls[0].key, EndpointProof(True), None, 0.1)
    (following,) = [e for e in league.manager.handle(done, BEGAN) if isinstance(e, Call)]
    assert following.key.agent_id == "P03"


def test_a_second_player_at_an_end_point_is_no_further_player_until_it_is_decided():
    league = Leagues(players=2)
    league.referees("Owl", EVES)
    league.comes("Ann")
    league.comes("Ann", claim="of Ann")
    assert not league.of(LeagueStarted)

    league.claims[ANNS] = "of Ann"
    league.pass_time()
    assert league.of(RegistrationDisplaced) == [RegistrationDisplaced("P01", "P02", "Ann")]
    assert not league.of(LeagueStarted)

    league.comes("Bob", BOBS)
    assert [each.players for each in league.of(LeagueStarted)] == [["P02", "P03"]]
    assert league.manager.league.table.row("P02").display_name == "Ann"


def test_two_that_both_proved_it_are_two():
    """One ended, and another one took its port: both are as they were."""
    league = Leagues(players=2)
    league.referees("Owl", EVES)
    league.claims[ANNS] = "of Ann"
    league.comes("Ann", claim="of Ann")
    league.claims[ANNS] = "hers"
    league.comes("Eve", claim="hers")

    assert [each.players for each in league.of(LeagueStarted)] == [["P01", "P02"]]
    assert not league.of(RegistrationDisplaced)


@rule("R-OWN-02")
def test_after_the_start_nobody_is_displaced_but_the_organiser_is_told():
    league = Leagues(players=2)
    league.referees("Owl", EVES)
    eve = league.comes("Eve", claim="hers")
    league.comes("Bob", BOBS)
    assert league.of(LeagueStarted)

    league.claims[ANNS] = "of Ann"
    league.pass_time()

    assert not league.of(RegistrationDisplaced)
    assert league.outcome(eve) == "Eve unproved"
    assert "take it out with: league remove P01" in league.manager.news[-1]


def test_a_league_starts_without_a_second_player_that_proved_nothing_yet():
    league = Leagues(players=None)
    league.referees("Owl", EVES)
    league.comes("Ann", claim="of Ann")
    eve = league.comes("Eve", claim="hers")
    refused = league.feed(command("start"))
    assert "a league needs two players, and 1 is registered" in str(refused)

    league.comes("Bob", BOBS)
    league.feed(command("start"))

    assert league.outcome(eve) == "out"
    assert [each.players for each in league.of(LeagueStarted)] == [["P01", "P03"]]
    assert not problems(league.events)


def test_one_that_was_probably_started_anew_starts_in_its_own_place():
    league = Leagues(players=None)
    league.referees("Owl", EVES)
    league.comes("Ann", claim="before")
    ann = league.comes("Ann", claim="now")
    league.comes("Bob", BOBS)

    league.feed(command("start"))

    assert [each.players for each in league.of(LeagueStarted)] == [["P02", "P03"]]
    assert league.outcome(ann) == "Ann unproved"
    assert not problems(league.events)


def test_a_foreign_agent_keeps_its_seat_whoever_claims_it_by_its_name():
    league = Leagues(players=None)
    league.referees("Owl", EVES)
    league.foreign[ANNS] = NoAnswer("HTTP 404")
    ann = league.comes("Ann")
    eve = league.comes("Ann", claim="hers")
    league.comes("Bob", BOBS)

    league.feed(command("start"))

    assert (league.outcome(ann), league.outcome(eve)) == ("Ann unproved", "out")


def test_one_that_was_second_to_a_displaced_one_starts():
    league = Leagues(players=None)
    league.referees("Owl", EVES)
    league.comes("A", "http://127.0.0.1:9/mcp", source="127.0.0.1")
    league.comes("B", "http://localhost:9/mcp", "of B", source="127.0.0.1")
    league.comes("C", "http://[::1]:9/mcp", "of C", source="127.0.0.1")
    league.comes("D", BOBS)

    league.feed(command("start"))

    assert [each.players for each in league.of(LeagueStarted)] == [["P01", "P03", "P04"]]
    assert not problems(league.events)


def test_who_owns_a_name_owns_none_of_the_addresses_that_it_gives_it():
    league = Leagues()
    league.foreign[ANNS] = UNKNOWN
    ann = league.comes("Ann")
    named = "http://eve.example:8101/mcp"
    meta = PlayerMeta("Eve", named, "1.0.0", ["even_odd"], claim="hers")
    caller = Caller(ELSEWHERE, None, addresses=(ELSEWHERE, HERE))
    league.claims[named] = "hers"

    eve = league.feed(Asked(LeagueRegisterRequest(meta), caller, 1))

    assert (league.outcome(ann), league.outcome(eve)) == ("Ann unproved", "Eve proved")
    moved = league.comes("Eve", ANNS, "hers", token=eve.auth_token)
    assert moved.status == "REJECTED"


def test_until_the_start_one_of_ours_may_mend_its_end_point():
    league = Leagues(players=2)
    league.referees("Owl", EVES)
    ann = league.comes("Ann", claim="of Ann")

    mended = league.comes("Ann", EVES, "of Ann", token=ann.auth_token)
    league.comes("Bob", BOBS)
    league.now += 60.0
    late = league.comes("Ann", "http://10.0.0.7:9/mcp", "of Ann", token=mended.auth_token)

    assert league.roster.players["P01"].endpoint == EVES
    assert late.status == "REJECTED"


def test_one_that_registers_again_meanwhile_is_asked_no_more_often():
    league = Leagues()
    ann = league.comes("Ann", claim="of Ann")
    league.comes("Ann", claim="of Ann", token=ann.auth_token)
    assert league.asked == ["P01"]

    league.claims[ANNS] = "of Ann"
    league.feed(Woken(ProofAgain("P01")))
    league.feed(Woken(ProofAgain("P01")))
    assert league.asked == ["P01"] * 2


def test_one_that_is_displaced_while_its_claim_waits_is_not_asked_for():
    league = Leagues(limits=ManagerLimits(challenges_max=1))
    calls = []

    def comes(name, url, claim, source):
        meta = PlayerMeta(name, url, claim=claim or UNSET)
        asked = Asked(LeagueRegisterRequest(meta), Caller(source), 1)
        calls.extend(e for e in league.manager.handle(asked, BEGAN) if isinstance(e, Call))

    comes("Bob", BOBS, "of Bob", "10.0.0.8")
    comes("Eve", ANNS, "hers", ELSEWHERE)
    comes("Ann", ANNS, "", HERE)
    assert [call.key.agent_id for call in calls] == ["P01"]
    assert league.roster.displaced == {"P02"}

    done = Answered(calls[0].key, EndpointProof(True), None, 0.1)
    assert not [e for e in league.manager.handle(done, BEGAN) if isinstance(e, Call)]


def test_names_are_looked_up_by_the_runtime_and_journalled():
    league = Leagues()
    at = {"addresses": ("10.0.0.7",)}

    def comes(url, token=None, claim="of Ann"):
        meta = PlayerMeta("Ann", url, claim=claim)
        caller = Caller(HERE, token, **at)
        return league.feed(Asked(LeagueRegisterRequest(meta), caller, 1))

    league.claims |= {"http://laptop:1/mcp": "of Ann", "http://laptop:2/mcp": "of Ann"}
    ann = comes("http://laptop:1/mcp")
    assert league.comes("Leech", "http://10.0.0.7:1/mcp").status == "REJECTED"
    comes("http://laptop:2/mcp", ann.auth_token)

    assert league.of(TokenRenewed)[-1].addresses == ["10.0.0.7"]
    assert league.resumed().comes("Leech", "http://10.0.0.7:2/mcp").status == "REJECTED"


def test_a_claim_that_is_answered_after_the_end_decides_nothing():
    league = Leagues()
    eve = league.comes("Eve", claim="hers")
    league.manager.apply(LeagueEnded(""))

    league.claims[ANNS] = "of Ann"
    league.feed(Answered(ProofCall("P01"), EndpointProof(False), None, 0.1))
    asked = len(league.asked)
    league.comes("Eve", claim="another", token=eve.auth_token)

    assert not league.of(RegistrationDisplaced)
    assert len(league.asked) == asked
    refused = league.feed(command("set_endpoint", agent_id="P01", url=BOBS))
    assert "the league is over already" in str(refused)


def test_a_referee_that_is_registered_at_anothers_end_point_gets_no_match():
    league = Leagues(players=2)
    league.claims |= {ANNS: "of Ann", EVES: "hers"}
    thief, owner = league.referees("Thief", claim="x"), league.referees("Owl", claim="of Ann")

    assert league.roster.displaced == {thief.referee_id}
    assert league.roster.is_proved(owner.referee_id)
    league.comes("Ann", BOBS)
    league.comes("Eve", EVES)
    assert league.of(RoundScheduled)[0].matches[0].referee_id == owner.referee_id
    lock = LockRequest("R1M1", 1, 0, [], auth_token=thief.auth_token)
    refused = league.feed(Asked(lock, Caller("10.0.0.9", thief.auth_token), 1))
    assert isinstance(refused, TokenInvalid)
    assert league.resumed().roster.displaced == {thief.referee_id}
    assert not problems(league.events)


def test_a_referee_that_was_displaced_cannot_be_approved():
    league = Leagues(referee_access="anyone")
    league.claims[ANNS] = "of Ann"
    thief = league.referees("Thief", claim="x")
    assert thief.referee_id in league.roster.displaced

    answer = league.feed(command("approve", referee_id=thief.referee_id))

    assert "referees already" in str(answer)
    assert thief.referee_id in league.roster.displaced


def test_without_another_referee_the_matches_of_one_that_is_displaced_wait():
    league = Leagues(players=2)
    thief = league.referees("Thief", claim="x")
    league.comes("Ann", BOBS)
    league.comes("Eve", EVES)
    league.feed(Woken(keys.AnnouncementAnswersDue(1)))
    league.claims[ANNS] = "of Ann"
    league.pass_time()

    assert league.roster.displaced == {thief.referee_id}
    assert "No other referee is there" in " ".join(league.manager.news)
    owner = league.referees("Owl", claim="of Ann")
    assert league.of(MatchAssigned)[-1].referee_id == owner.referee_id


def test_displaced_registrations_leave_their_place_to_others_but_not_without_end():
    league = Leagues(players_max=2, referees_max=1)
    league.claims[ANNS] = "of Ann"

    answers = [league.comes(f"Eve {number}", claim=f"{number}") for number in range(5)]
    referees = [league.referees(f"Eve {number}", claim=f"{number}") for number in range(3)]

    assert [answer.status for answer in answers] == ["ACCEPTED"] * 4 + ["REJECTED"]
    assert [answer.status for answer in referees] == ["ACCEPTED"] * 2 + ["REJECTED"]
    assert answers[-1].error_code == referees[-1].error_code == "E020"


def test_what_the_organiser_says_is_not_undone_by_an_address():
    league = Leagues()
    league.feed(command("add_player", name="Bob", url=BOBS))

    other = league.comes("Leech", BOBS, source="10.0.0.8")

    assert other.status == "REJECTED"
    assert "league remove P01" in other.hint
    league.feed(command("remove", player_id="P01"))
    assert league.outcome(league.comes("Leech", BOBS, source="10.0.0.8")) == "Leech unproved"


@rule("R-OWN-04")
def test_the_organiser_moves_an_agent_that_cannot_prove_anything():
    league, _, _ = ann_is_there(players=2)
    owl = league.referees("Owl", EVES)
    assert league.of(LeagueStarted)
    moved = "http://10.0.0.8:9/mcp"

    for agent_id in ("P02", owl.referee_id):
        answer = league.feed(command("set_endpoint", agent_id=agent_id, url=moved))
        assert answer.said == f"{agent_id} is called at {moved} from now on."
        assert league.roster.member(agent_id).endpoint == moved
    league.claims[moved] = "of Ann"
    league.feed(command("set_endpoint", agent_id="P01", url=moved))

    assert league.roster.is_proved("P01")
    assert league.resumed().roster.players["P02"].endpoint == moved
    assert not problems(league.events)


@each_row(
    ("params", "why"),
    [
        ({"agent_id": "P09", "url": BOBS}, "no agent 'P09' is registered"),
        ({"agent_id": 7, "url": BOBS}, "no agent '7' is registered"),
        ({"agent_id": "P01", "url": BOBS}, "P01 was taken out; it can register again"),
        ({"agent_id": "P02", "url": 7}, "params.url must be the agent's end point"),
        ({"agent_id": "P02", "url": ""}, "params.url must be the agent's end point"),
    ],
)
def test_only_an_agent_that_is_there_is_moved_and_only_to_a_url(params, why):
    league = Leagues()
    league.claims[ANNS] = "of Ann"
    league.comes("Eve", claim="hers")
    league.comes("Ann", claim="of Ann")

    assert why in str(league.feed(command("set_endpoint", **params)))


def test_everybody_can_see_who_proved_it_and_who_is_out():
    league, _, _ = ann_is_there()
    league.comes("Eve", claim="hers")
    league.referees("Thief", claim="x")
    league.feed(command("add_player", name="Zoe", url="http://10.0.0.1/mcp"))

    answer = league.feed(Asked(LeagueQuery("GET_AGENTS"), Caller(ELSEWHERE), 1))

    rows = {row["agent_id"]: row for row in answer.data["agents"]}
    shown = {each: (row.get("proved"), row.get("displaced")) for each, row in rows.items()}
    assert shown == {
        "P01": (True, None),
        "P02": (False, None),
        "P03": (None, True),
        "P04": (None, None),  # The organiser said so.
        "REF01": (None, True),
    }
    assert rows["REF01"]["state"] == rows["P03"]["state"] == "SHUTDOWN"
    status = league.feed(Asked(LeagueQuery("GET_STATUS"), Caller(ELSEWHERE), 1))
    assert (status.players, status.referees) == (3, 0)


def command(what, **params):
    return Asked(LeagueCommand(what, params), Caller("127.0.0.1", SECRETS.admin_token), 1)


def problems(events):
    """What `league verify` finds wrong with these rows."""
    return verify(rows_of(events, "league_test"), lambda name: even_odd).difference


@rule("R-REG-12")
def test_who_answers_about_its_claim_is_reachable():
    league = Leagues()
    league.claims[ANNS] = "ann's"

    league.comes("Ann", claim="ann's")

    query = LeagueQuery("GET_AGENT", query_params={"agent_id": "P01"})
    assert league.feed(Asked(query, Caller("10.0.0.7"), 2)).data["agent"]["reachable"] is True
