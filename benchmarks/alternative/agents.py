"""Players that choose by chance, and referees that run all their matches of a round at once."""

import asyncio
import random

from rpc import Agent, Message


class Player(Agent):
    """Joins, chooses, and hears of results and tables."""

    methods = (
        *("handle_game_invitation", "parity_choose", "notify_match_result"),
        *("notify_round", "update_standings", "notify_round_completed"),
    )

    def __init__(self) -> None:
        super().__init__("player")
        self.standings: list[Message] = []
        self.history: list[Message] = []

    notify_round = notify_round_completed = Agent.acknowledge

    async def handle_game_invitation(self, asked: Message) -> Message:
        """Accept it."""
        fields = {"player_id": self.me, "accept": True, "auth_token": self.token}
        return self.say("GAME_JOIN_ACK", asked, **fields)

    async def parity_choose(self, asked: Message) -> Message:
        """Choose even or odd."""
        choice = random.choice(["even", "odd"])  # noqa: TID251
        fields = {"player_id": self.me, "parity_choice": choice, "auth_token": self.token}
        return self.say("CHOOSE_PARITY_RESPONSE", asked, **fields)

    async def notify_match_result(self, told: Message) -> Message:
        """Remember a result."""
        self.history.append(told["game_result"])
        return await self.acknowledge(told)

    async def update_standings(self, told: Message) -> Message:
        """Remember the table."""
        self.standings = told["standings"]
        return await self.acknowledge(told)


class Referee(Agent):
    """Invites, asks, has the manager decide, tells both players, and reports."""

    methods = ("notify_round", "notify_round_completed")

    def __init__(self) -> None:
        super().__init__("referee")
        self._matches = set[asyncio.Task[None]]()

    notify_round_completed = Agent.acknowledge

    async def notify_round(self, told: Message) -> Message:
        """Begin its matches."""
        for match in told["matches"]:
            match |= {"round_id": told["round_id"], "conversation_id": match["match_id"].lower()}
            task = asyncio.create_task(self._play(match))
            self._matches.add(task)
            task.add_done_callback(self._matches.discard)
        return await self.acknowledge(told)

    async def _play(self, match: Message) -> None:
        await self._both(match, "handle_game_invitation", "GAME_INVITATION")
        answers = await self._both(match, "parity_choose", "CHOOSE_PARITY_CALL")
        moves = [[0, answer["player_id"], answer["parity_choice"]] for answer in answers]
        asked = self.say("LOCK_REQUEST", match, moves=moves, auth_token=self.token)
        result = (await self.call(self.manager_url, "lock_moves", asked))["result"]
        shown = {"game_result": result["game_result"]}
        await self._both(match, "notify_match_result", "GAME_OVER", **shown)
        told = self.say("MATCH_RESULT_REPORT", match, result=result, auth_token=self.token)
        await self.call(self.manager_url, "report_match_result", told)

    async def _both(
        self, match: Message, method: str, message_type: str, **fields: object
    ) -> list[Message]:
        calls = []
        for seat, other in ("AB", "BA"):
            players = {"player_id": match[f"player_{seat}_id"], "role_in_match": f"PLAYER_{seat}"}
            players["opponent_id"] = match[f"player_{other}_id"]
            said = self.say(message_type, match, **players, **fields)
            calls.append(self.call(match[f"player_{seat}_endpoint"], method, said))
        return await asyncio.gather(*calls)
