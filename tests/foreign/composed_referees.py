"""Referees composed of traits: python composed_referees.py MANAGER SHAPE [SHAPE …].

composed_agent.py has the traits of every agent; those of referees are these. A referee calls its
players and reports in the wrapper in which it wants to be called.

    start     the message by which it is started; answer: started, ok, result, late
    players   how it wants its players named: A, a, 1, url, list, objects
    league    own: it has a league id of its own
    shows     the token in its messages: own, none, null
    reads     which name of a choice it reads: parity_choice, choice; and where: top
    report    documented, word, empty, flat, winner_id, seats, points, zero, strange
"""

import itertools
import sys
import threading
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign import wrappers
from foreign.composed_agent import Agent, run
from foreign.http_agent import post
from foreign.wrappers import plain

FIELDS = {
    "A": ("player_A_id", "player_B_id", "player_A_endpoint", "player_B_endpoint"),
    "a": ("player_a", "player_b", "player_a_endpoint", "player_b_endpoint"),
    "1": ("player1_id", "player2_id", "player1_endpoint", "player2_endpoint"),
    "url": ("player1", "player2", "player1_url", "player2_url"),
    "list": ("players",),
    "objects": ("player1", "player2"),
}
ENDPOINTS = ("endpoint", "contact_endpoint", "url")
NUMBERS = itertools.cycle([4, 7, 2, 9])


class Referee(Agent):
    """A referee of even_odd."""

    role = "referee"
    own_tools = (("begin_refereeing_a_match",), ("runGame",), ("conduct_match",))

    @property
    def types(self):
        return (self.trait("start", "START_MATCH"),)

    @property
    def fields(self):
        return FIELDS[self.trait("players", "A")]

    def takes(self, kind):
        return ("match_id", "round_id", *self.fields)

    def needs(self, kind):
        names = [] if self.trait("start") == "ROUND_ANNOUNCEMENT" else ["match_id", *self.fields]
        return [wrappers.spelled_name(self.traits, name) for name in names]

    def type_of(self, name):
        is_player = self.trait("players") == "objects" and "player" in name
        return "object" if is_player else super().type_of(name)

    def lacking(self, message):
        kinds = {"objects": dict, "list": list}
        if self.trait("start") == "ROUND_ANNOUNCEMENT":
            return [] if isinstance(message.get("matches"), list) else ["matches"]
        wanted = kinds.get(self.trait("players"), str)
        names = [wrappers.plain_name(name) for name in self.fields]
        return [name for name in names if not isinstance(message[name], wanted)]

    # Being started

    def respond(self, kind, message):
        match = self.match_in(message)
        if match is None:
            return {"status": "ok"}
        how = self.trait("answer", "started")
        if how in ("result", "late"):
            result = self.play(*match)
            if how == "late":
                self.report(result)
            return {"status": "completed", **self.told(result)}
        work = threading.Thread(target=lambda: self.report(self.play(*match)), daemon=True)
        work.start()
        return {"status": "started", "match_id": match[0]} if how == "started" else {"status": "ok"}

    def match_in(self, message):
        """Id, players and end points of its match; None if there is none for it."""
        if self.trait("start") == "ROUND_ANNOUNCEMENT":
            own = [each for each in message["matches"] if each.get("referee_endpoint") == self.url]
            return self.seats(own[0], FIELDS["A"]) if len(own) == 1 else None
        return self.seats(message, self.fields)

    def seats(self, message, names):
        held = [message[wrappers.plain_name(name)] for name in names]
        held = held[0] if names == ("players",) else held
        if isinstance(held[0], dict):
            urls = [next(each[name] for name in ENDPOINTS if each.get(name)) for each in held]
            ids = [each.get("player_id") or each["display_name"] for each in held]
            held = [*ids, *urls]
        return message["match_id"], held[:2], held[2:]

    # Playing

    def play(self, match_id, ids, urls):
        """One match by the rules."""
        for number, url in enumerate(urls):
            role = {"role_in_match": f"PLAYER_{'AB'[number]}", "opponent_id": ids[1 - number]}
            self.ask(url, "GAME_INVITATION", match_id, ids[number], role)
        choices = {}
        for player_id, url in zip(ids, urls, strict=True):
            more = {"context": {"opponent_id": ""}, "deadline": self.stamp}
            said = self.ask(url, "CHOOSE_PARITY_CALL", match_id, player_id, more)
            choices[player_id] = said["choice" if self.reads("choice") else "parity_choice"]
        number = next(NUMBERS)
        parity = "odd" if number % 2 else "even"
        right = [each for each in ids if choices[each] == parity]
        winner = right[0] if len(right) == 1 else None
        over = {"status": "WIN" if winner else "DRAW", "winner_player_id": winner}
        over |= {"drawn_number": number, "choices": choices}
        for player_id, url in zip(ids, urls, strict=True):
            self.ask(url, "GAME_OVER", match_id, player_id, {"game_result": over})
        return match_id, ids, winner, number, choices

    @property
    def stamp(self):
        return self.enveloped("", {}).get("timestamp", "")

    def reads(self, name):
        return name in self.listed("reads")

    def ask(self, url, kind, match_id, player_id, more):
        """What a player of ours answered."""
        league = "my_league_2025" if self.trait("league") == "own" else self.league_id
        fields = {"league_id": league, "round_id": 1, "match_id": match_id, "player_id": player_id}
        message = self.enveloped(kind, {**fields, "game_type": "even_odd", **more})
        if self.trait("shows") == "none":
            message.pop("auth_token", None)
        if self.trait("shows") == "null":
            message["auth_token"] = None
        answer = post(url, wrappers.request(self.traits, kind, message))
        return plain(answer if self.reads("top") else wrappers.content_of(answer))

    # Reporting

    def told(self, result):
        match_id, ids, winner, number, choices = result
        how = self.trait("report", "documented")
        flat = {"match_id": match_id, "drawn_number": number}
        words = ["DRAW" if winner is None else "WIN" if winner == each else "LOSS" for each in ids]
        if how == "winner_id":
            return {**flat, "winner_id": winner, "choices": choices}
        if how == "flat":
            return {**flat, "winner_player_id": winner, "status": "WIN" if winner else "DRAW"}
        if how == "seats":
            for letter, player_id, word in zip("ab", ids, words, strict=True):
                seat = {"id": player_id, "choice": choices[player_id], "result": word}
                flat |= {f"player_{letter}_{name}": value for name, value in seat.items()}
            return {**flat, "winner_id": winner}
        said = {"word": winner or "DRAW", "empty": winner or ""}.get(how, winner)
        win, draw = (1, 0) if how in ("points", "zero") else (3, 1)
        score = {each: draw if winner is None else win * (each == winner) for each in ids}
        details = {"drawn_number": number, "choices": choices}
        if how in ("zero", "word", "empty"):
            details = {}
        if how == "strange":
            score = choices
        return {
            "match_id": match_id,
            "result": {"winner": said, "score": score, "details": details},
        }

    def report(self, result):
        message = self.enveloped("MATCH_RESULT_REPORT", self.told(result))
        post(self.manager, wrappers.request(self.traits, "MATCH_RESULT_REPORT", message))


if __name__ == "__main__":
    run(Referee, *sys.argv[1:])
