"""What the manager tells its own agents is one broadcast; who hangs costs others nothing."""

import msgspec
from msgspec.structs import replace

from agentleague.protocol.messages import LeagueStandingsUpdate, RoundAnnouncement, RoundCompleted
from agentleague.roles.effects import Broadcast, Call
from agentleague.roles.stimuli import Told
from memory_league import MemoryLeague
from rules import rule


def watched(league):
    """The stimuli and effects of the manager from now on."""
    stimuli, effects = [], []

    def saw(stimulus, wanted):
        stimuli.append(stimulus)
        effects.extend(wanted)

    league.hosts[0].on_seen = saw
    return stimuli, effects


def test_table_end_of_a_round_and_the_next_announcement_are_one_broadcast():
    league = MemoryLeague(4, 1).fill()
    league.run_until(lambda: league.league.round_id == 2)
    stimuli, effects = watched(league)

    league.run_until(lambda: league.league.round_id == 3)

    assert not any(isinstance(each, Call) for each in effects)
    broadcast = effects[-1]
    assert isinstance(broadcast, Broadcast)
    letters = {to.agent_id: [message for message, _ in letter] for to, letter in broadcast.letters}
    assert list(letters) == ["P01", "P02", "P03", "P04", "REF01"]
    kinds = [LeagueStandingsUpdate, RoundCompleted, RoundAnnouncement]
    assert [type(message) for message in letters["P04"]] == kinds
    assert [type(message) for message in letters["REF01"]] == [RoundCompleted]
    assert letters["P01"][1] is letters["P04"][1] is letters["REF01"][0]
    assert [type(each) for each in stimuli].count(Told) == 2  # Of the assignments, too.


def test_a_player_that_hangs_does_not_keep_messages_from_those_that_answered():
    league = MemoryLeague(4, 1).fill()
    league.run_until(lambda: league.league.round_id == 2)
    outbox, told = league.manager._step.outbox, league.clock.now()
    league.hosts[2]._transport.listen(lambda message, caller, reply: None)

    league.wait(1.5)

    assert list(outbox._waiting) == ["P01"]
    assert not league.manager.rounds.has_begun  # It has as long to answer as ever.
    league.run_until(lambda: league.manager.rounds.has_begun)
    assert league.clock.now() == told + league.settings.reply_seconds


@rule("R-TABLE-10")
def test_in_a_large_league_players_of_ours_get_few_rows_and_know_their_opponents_name():
    league, seen = MemoryLeague(32, 1, cycles=1), []
    league.add_referee()
    for number in range(31):
        league.add_player(name=f"Player {number + 1}")
    players = league.league.roster.players
    players["P02"] = replace(players["P02"], proofs=False)  # As a foreign one registers.
    league.add_player(lambda turn: seen.append(turn) or "even", "Player 32")

    league.run_until(lambda: league.league.round_id == 3)

    for player_id, is_ours in (("P01", True), ("P02", False), ("P32", True)):
        host = players[player_id].endpoint.split("/")[2]
        told = {type(message): message for name, message in league.messages if name == host}
        rows = len(msgspec.json.decode(told[LeagueStandingsUpdate].standings))
        matches = len(msgspec.json.decode(told[RoundAnnouncement].matches))
        assert (rows < 14, matches < 11) == (is_ours, is_ours)
        assert (told[LeagueStandingsUpdate].truncated is True) == is_ours
    first = seen[0]
    assert first.opponent_name == f"Player {int(first.opponent_id[1:])}"
