"""Players composed of traits: python composed_players.py MANAGER SHAPE [SHAPE …].

composed_agent.py has the traits of every agent; those of players are these.

    needs     fields without which it does not work, joined by +; reads=camel: so is the match
    join      how it accepts; move: how it names its choice
    push      it acknowledges, and pushes its answer: after or before that
    busy      yes: it takes no second invitation before GAME_OVER
    moves     even or odd
"""

import sys
import threading
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign import wrappers
from foreign.composed_agent import Agent, run
from foreign.http_agent import post

TAKES = {
    "GAME_INVITATION": ("match_id", "opponent_id", "round_id"),
    "CHOOSE_PARITY_CALL": ("match_id", "context"),
    "GAME_OVER": ("match_id", "game_result"),
}
ONLY_INVITED = ("role_in_match", "game_invitation", "opponent_id", "opponent")
ONLY_CALLED = ("context", "deadline", "parity_context")
JOINS = {
    "accept": {"accept": True},
    "accepted": {"accepted": True},
    "ack": {"status": "ACK"},
    "status": {"status": "ACCEPTED"},
    "lower": {"status": "accepted"},
    "joined": {"joined": True},
    "text": {"accept": "true"},
    "response": {"response": "ACCEPT"},
    "typed": {},
    "ready": {"status": "READY"},
}
MOVES = {
    "parity_choice": lambda move: {"parity_choice": move},
    "choice": lambda move: {"choice": move},
    "move": lambda move: {"move": move},
    "parity": lambda move: {"parity": move},
    "selection": lambda move: {"selection": move},
    "decision": lambda move: {"decision": move},
    "inner": lambda move: {"choice": {"parity": move}},
    "move_object": lambda move: {"move": {"parity_choice": move}},
    "word": lambda move: move,
}


class Player(Agent):
    """A player of even_odd."""

    role = "player"
    types = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER")
    own_tools = (
        ("accept_game_invite", "make_parity_decision", "on_result"),
        ("joinGame", "pickParity", "gameOver"),
        ("receive_invitation", "submit_move", "match_finished"),
    )
    match = None
    referees = ""  # where it pushes to: the last end point it was told

    def takes(self, kind):
        return TAKES[kind]

    def needs(self, kind):
        if kind == "GAME_OVER":
            return []
        fields = self.listed("needs")
        others = ONLY_CALLED if kind == "GAME_INVITATION" else ONLY_INVITED
        fields = [each for each in fields if each not in others]
        fields += ["match_id"] if self.trait("reads") == "camel" else []
        named = [wrappers.spelled_name(self.traits, name) for name in fields]
        return [*named, *super().needs(kind)]

    def respond(self, kind, message):
        match_id = message.get("match_id")
        if kind == "GAME_OVER":
            self.match = None
            return {"status": "ok"}
        if kind == "GAME_INVITATION":
            if "busy" in self.traits and self.match not in (None, match_id):
                return {"accept": False, "reason": "in a match"}
            self.match = match_id
        content = self.content(kind, match_id)
        self.referees = message.get("referee_endpoint") or self.referees
        if "push" not in self.traits or not self.referees:
            return content
        answer = content["message_type"]
        send = threading.Thread(
            target=post,
            args=(self.referees, wrappers.request(self.traits, answer, content)),
            daemon=True,
        )
        send.start()
        if self.trait("push") == "before":
            send.join(5)
        return {"status": "received"}

    def content(self, kind, match_id):
        if kind == "GAME_INVITATION":
            answer, said = "GAME_JOIN_ACK", JOINS[self.trait("join", "accept")]
        else:
            move = MOVES[self.trait("move", "parity_choice")]
            answer, said = "CHOOSE_PARITY_RESPONSE", move(self.trait("moves", "even"))
        if isinstance(said, str):
            return said
        return self.enveloped(answer, {"match_id": match_id, "player_id": self.id, **said})


if __name__ == "__main__":
    run(Player, *sys.argv[1:])
