"""A stage that is played without a league: rounds by the format, results by a test."""

from agentleague.league.formats.format import Done, Entrant, Played, PlayedMatch, PlayedRound, Round

NO_CONTEST, DRAW, DOUBLE_FORFEIT = "no contest", "draw", "double forfeit"


def entrants(number):
    return [Entrant(f"P{n:02}") for n in range(1, number + 1)]


def match(players, result):
    """`result` is one of the words above, or the winner; with "!" after it by a technical loss."""
    if result == NO_CONTEST:
        return PlayedMatch(players, None, counts=False)
    if result in (DRAW, DOUBLE_FORFEIT):
        return PlayedMatch(players, None, technical=result == DOUBLE_FORFEIT)
    return PlayedMatch(players, result.removesuffix("!"), technical=result.endswith("!"))


def better(players):
    return min(players, key=lambda each: int(each[1:]))


class Stage:
    """What was played in a stage so far."""

    def __init__(self, play, number, **options):
        self.format = play
        self.entrants = entrants(number) if isinstance(number, int) else number
        defaults = {name: option.default for name, option in play.options.items()}
        self.options = defaults | options
        self.results, self.removed, self.is_time_up = [], set(), False
        play.begin(self.entrants, self.options)

    @property
    def played(self):
        return Played(len(self.results), self.results, self.removed, is_time_up=self.is_time_up)

    def next(self):
        return self.format.next_round(self.played, self.entrants, self.options)

    def play(self, result_of=better):
        """Play the next round; None if there is none."""
        following = self.next()
        if isinstance(following, Done):
            return None
        assert isinstance(following, Round)
        matches = [match(players, result_of(players)) for players in following.pairings]
        self.results.append(PlayedRound(matches, following.byes))
        return following

    def rounds(self, result_of=better):
        """Play to the end."""
        found = []
        while following := self.play(result_of):
            found.append(following)
        return found

    def rule(self, round_id, number, result):
        """Change the result of a match."""
        matches = self.results[round_id - 1].matches
        matches[number - 1] = match(matches[number - 1].players, result)

    @property
    def merits(self):
        return self.format.merits(self.played, self.entrants, self.options)
