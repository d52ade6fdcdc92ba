"""What the manager tells the two players of a match, and the organiser while the league goes on.

The commands that it names end with `--dir DIR`: whoever prints them knows the directory.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from agentleague.dialects.complaints import in_vain, read_note
from agentleague.league.adjudicator import Adjudicator
from agentleague.league.events import Disputed, MatchClosed, PlayerRegistered
from agentleague.league.formats.stage_words import titles
from agentleague.league.formats.stages import StageProgress
from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import dispute_in_words
from agentleague.league.queries_metrics import GOOD
from agentleague.league.roster import Member
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.keys import NewRefereeAnswersDue, RefereeChanged, ResultTold
from agentleague.manager.step import Step
from agentleague.protocol.messages import Exchange
from agentleague.protocol.printable import counted, log_text
from agentleague.roles.settings import ManagerSettings


class ResultNotices:
    """GAME_OVER from the manager itself: if no referee is left, or a player was away."""

    def __init__(self, step: Step, *, adjudicator: Adjudicator, broadcasts: Broadcasts) -> None:
        self._step, self._adjudicator, self._broadcasts = step, adjudicator, broadcasts
        self._league = step.league
        self._untold: dict[str, set[str]] = {}  # match -> players still to be told
        self.closed: Callable[[], None] = lambda: None  # called after each match that it closes

    def tell(self, match_id: str) -> None:
        """Tell both players, except one whom the organiser removed."""
        record = self._league.matches[match_id]
        players = [each for each in record.players if each not in self._league.roster.removed]
        self._untold[match_id] = set(players)
        for player_id in players:
            self._tell(record, player_id)
        self.told((), match_id)

    def tell_again(self, player_id: str) -> None:
        """A player came back: tell it the last match that it played to its end, and all since."""
        # It may have died while it was told, and nobody else can know; a repetition harms nobody.
        if player_id in self._league.roster.removed:
            return
        results: list[MatchRecord] = []
        for record in reversed(self._league.matches.last_of(player_id)):
            if record.decided:
                results.append(record)
                result = record.decided.result
                if result.status != "TECHNICAL_LOSS" or result.winner_player_id == player_id:
                    break
        for record in reversed(results):
            self._tell(record, player_id)

    def _tell(self, record: MatchRecord, player_id: str) -> None:
        locked = self._adjudicator.result(record.match_id)
        message = self._broadcasts.game_over(record, locked, player_id)
        subject, receipt = ResultTold(record.match_id), record.decided_seq
        self._step.tell(player_id, message, subject, receipt=receipt, keep=True)

    def tell_all_decided(self) -> None:
        """The league was aborted: do not wait for referees to tell what is decided."""
        for match_id in sorted(self._league.open_matches):
            if self._league.matches[match_id].decided and match_id not in self._untold:
                self.tell(match_id)

    def told(self, players: Sequence[str], match_id: str) -> None:
        """These players were told, or given up; the last one closes the match."""
        untold = self._untold.get(match_id)
        if untold is None:
            return
        untold.difference_update(players)
        if not untold:
            del self._untold[match_id]
            epoch = self._league.matches[match_id].epoch
            self._step.record(MatchClosed(match_id, epoch, told="manager"))
            self.closed()

    def is_telling(self, match_id: str) -> bool:
        """Whether the players of a match are being told."""
        return match_id in self._untold

    def stop(self, match_id: str) -> None:
        """A referee has told them after all."""
        self._untold.pop(match_id, None)


class RefereeNotices:
    """The players of a match hear of its new referee; when they know, or had time, it is `done`."""

    def __init__(self, step: Step, *, broadcasts: Broadcasts, done: Callable[[str], None]) -> None:
        self._step, self._broadcasts, self._done = step, broadcasts, done
        self._untold: dict[str, set[str]] = {}  # match -> players still to hear of it

    def tell(self, record: MatchRecord) -> None:
        """Tell both players, except one whom the organiser removed."""
        removed = self._step.league.roster.removed
        players = [each for each in record.players if each not in removed]
        self._untold[record.match_id] = set(players)
        message = self._broadcasts.new_referee(record)
        for player_id in players:
            self._step.tell(player_id, message, RefereeChanged(record.match_id))
        until = self._step.now + self._step.limits.new_referee_seconds
        self._step.wake(NewRefereeAnswersDue(record.match_id), until)

    def told(self, players: Sequence[str], match_id: str) -> None:
        """These players were told, or given up."""
        untold = self._untold.get(match_id)
        if untold is not None:
            untold.difference_update(players)
            if not untold:
                self.stop_waiting(match_id)

    def stop_waiting(self, match_id: str) -> None:
        """The players had time enough to hear of it."""
        if match_id in self._untold:
            del self._untold[match_id]
            self._done(match_id)


class NotUnderstood:
    """Players that understood no dialect, as the transcripts of their matches show."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._said: dict[str, str] = {}  # what each said; forgotten when it understands

    def look_at(self, players: Sequence[str], transcript: Sequence[Exchange]) -> None:
        """The transcript of a match: the organiser is told of each such player once."""
        last = {row.player_id: row.verdict for row in transcript}
        for player_id in players:
            if last.get(player_id) in GOOD:
                self._said.pop(player_id, None)
            elif player_id not in self._said:
                notes = (read_note(row.note) for row in transcript if row.player_id == player_id)
                self._tell(player_id, notes)

    def rows(self) -> list[str]:
        """Each player and what it said."""
        names = self._step.league.names_of(self._said)
        return [f"{each} {names[each]}, which said: {said}" for each, said in self._said.items()]

    def _tell(self, player_id: str, notes: Iterable[tuple[str, list[str]]]) -> None:
        said, forms = next((each for each in notes if each[1]), ("", []))
        if forms:
            member = self._step.league.roster.member(player_id)
            self._said[player_id] = log_text(said)
            # Nobody but its referee calls a seat.
            play = (
                "" if member.is_seated else f"try it with: league play {member.endpoint} random; "
            )
            self._step.notify(
                f"{player_id} {member.display_name} {in_vain(said)}. Its author can {play}see its "
                f"matches with: league agent {player_id} --dir DIR"
            )


class LossNotices:
    """Tells the organiser of losses without a game: each in a line, as long as they are few."""

    def __init__(self, step: Step) -> None:
        self._step, self._told = step, 0

    def tell(self, match_id: str, silent: Collection[str]) -> None:
        """A match was closed; `silent` are players whose attempts had all run out before."""
        league = self._step.league
        decided = league.matches[match_id].decided
        assert decided
        for player_id, why in decided.forfeits:
            member = league.roster.players[player_id]
            if player_id in league.timed_out and player_id not in silent:
                self._step.notify(timed_out(member, match_id))
                continue
            self._told += 1
            told = f"{player_id} {member.display_name} lost {match_id} without a game: {why}."
            more = MORE_LOSSES if self._told == LOSSES_TOLD + 1 else ""
            self._step.notify(told if self._told <= LOSSES_TOLD else more)


LOSSES_TOLD = 50
MORE_LOSSES = "Further losses without a game stand in the table: league standings --dir DIR"
BEGUN = "The league has begun"


def joined(league: League, agent_id: str, settings: ManagerSettings) -> str:
    """An agent registered, and how many are still needed."""
    member = league.roster.member(agent_id)
    if league.is_late(agent_id):
        return f"{agent_id} {member.display_name} came late: {entry(league)}."
    here, referees = league.players_total, league.roster.referees_total
    players = (
        f"{here} of {settings.players} players" if settings.players else counted(here, "player")
    )
    out = len(league.roster.removed.keys() - league.roster.displaced)
    players += f" ({out} removed)" if out else ""
    few = referees < settings.referees
    wanted = f"{referees} of {counted(settings.referees, 'referee')}"
    others = wanted if few else counted(referees, "referee")
    where = "a seat of this manager" if member.is_seated else member.endpoint
    return f"{agent_id} {member.display_name} is at {where}: {players}, {others}."


def added(league: League, event: PlayerRegistered) -> str:
    """The organiser added a player."""
    late = f"; it {entry(league)}" if league.entry else ""
    return f"{event.display_name} is {event.player_id}, and is called at {event.endpoint}{late}."


def entry(league: League, plays: str = "plays") -> str:
    """From when on somebody plays who comes now, or is not in the table yet."""
    if league.entry != "now":
        return f"{plays} from stage {league.progress.stage + 1} on" if league.entry else "plays not"
    is_cycle = league.progress.format.late == "cycle"
    return f"{plays} from {'the next cycle' if is_cycle else f'round {league.round_id + 1}'} on"


def waiting(member: Member, source: str) -> str:
    """A referee registered that nobody has vouched for yet."""
    return (
        f"{member.agent_id} {member.display_name} at {member.endpoint} asked from {source} to "
        "referee, and waits: it showed no referee code. If you know it, let it in with: league "
        f"approve {member.agent_id} --dir DIR"
    )


def round_over(league: League) -> str:
    """A round is over, and who leads."""
    leader = league.table.rows()[0]
    of_all = f" of {league.totals.rounds}" if league.totals else ""
    return (
        f"Round {league.round_id}{of_all} is over; "
        f"{leader.player_id} {leader.display_name} leads with {league.table.why(leader.player_id)}."
    )


def begun(league: League) -> str:
    """The league has begun."""
    players, totals = counted(len(league.entrants), "player"), league.totals
    matches = f", {counted(totals.matches, 'match', 'matches')}" if totals else ""
    return f"{BEGUN}: {players}, {rounds_in_words(league)}{matches}."


def stage_begun(league: League) -> str:
    """A stage is over, and the next one begins."""
    progress = league.progress
    players = counted(len(progress.field), "player")
    stage = f"Stage {progress.stage} of {len(progress.stages)}"
    return f"{stage} begins: {progress.format.name}, {players}."


def nobody_left_out(progress: StageProgress) -> str:
    """A number is to go on from the stage that begins, and it is everybody; else nothing."""
    field, options, stage = progress.field, progress.options, progress.stage
    players = [each.player_id for each in field]
    is_cut = stage < len(progress.stages) and options["advance"]
    if not is_cut or len(progress.format.advancing(players, field, options)) < len(field):
        return ""
    title, following = (each.lower() for each in titles(progress.stages)[stage - 1 : stage + 1])
    return (
        f"All {len(field)} go on after the {title}: only the seeds of the {following} depend on "
        "that; lower advance to leave some out."
    )


def stages_left_out(league: League) -> str:
    """A league is over before its last stage."""
    stages, stage = league.stages, league.progress.stage + 1
    left = f"Stage {stage} of {len(stages)} ({stages[stage - 1].format}) is not played"
    return f"{left}: too few players are left for it."


def rounds_in_words(league: League) -> str:
    """How many rounds a league has."""
    return counted(league.totals.rounds, "round") if league.totals else "as many rounds as it takes"


def champion(league: League) -> str:
    """Who won a league that is over, and by what; why it was not shorter or longer."""
    first = league.table.row(league.champion)
    won = (
        f"{first.player_id} {first.display_name} is the champion with "
        f"{league.table.why(first.player_id)}{by_lot(len(league.champions()))}."
    )
    return f"{won} {league.ending}".rstrip()


def by_lot(level: int) -> str:
    """How the champion was found among those who share rank 1."""
    return f"; it was drawn by lot among the {level} who share rank 1" if level > 1 else ""


def timed_out(member: Member, match_id: str) -> str:
    """A player let every attempt run out, and `patience` is `learning`."""
    return (
        f"{member.agent_id} {member.display_name} lost {match_id}: no answer in time. Until it "
        f"answers again it is asked only once. See it with: league match {match_id} --dir DIR"
    )


def disputed(event: Disputed) -> str:
    """A referee contradicted a result, or itself."""
    return (
        f"{event.match_id} is disputed: {dispute_in_words(event)}. See it with: league match "
        f"{event.match_id} --dir DIR; decide with: league rule {event.match_id} --dir DIR"
    )


def unconfirmed(record: MatchRecord) -> str:
    """A player lost by the word of one referee for which nobody vouches."""
    match_id = record.match_id
    return (
        f"{match_id} is lost by default by the word of {record.referee_id} alone, for which nobody "
        f"vouches. See it with: league match {match_id} --dir DIR; decide with: league rule "
        f"{match_id} --dir DIR"
    )


def set_aside(referee_id: str, players: Sequence[str]) -> str:
    """A referee was contradicted too often."""
    return (
        f"{referee_id} is set aside and given no more matches: it said that {', '.join(players)} "
        "forfeited, and each of them played with another referee. If you trust it all the same, "
        f"let it in again with: league approve {referee_id} --dir DIR"
    )
