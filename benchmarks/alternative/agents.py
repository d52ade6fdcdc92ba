"""Players that choose by chance, and referees that run all their matches of a round at once."""

import asyncio
import random

from rpc import Agent, Message, message


class Player:
    """Joins, chooses, and hears of results and tables."""

    def __init__(self) -> None:
        self.me, self.token = "", ""
        self.standings: list[Message] = []
        self.history: list[Message] = []
        self.agent = Agent(
            {
                "handle_game_invitation": self.join,
                "parity_choose": self.choose,
                "notify_match_result": self.game_over,
                "notify_round": self.acknowledge,
                "update_standings": self.update_standings,
                "notify_round_completed": self.acknowledge,
            }
        )

    async def register(self, manager_url: str, name: str) -> None:
        """Tell the manager where this player is."""
        await self.agent.start()
        meta = {"display_name": name, "contact_endpoint": self.agent.url}
        request = message("LEAGUE_REGISTER_REQUEST", f"player:{name}", {}, player_meta=meta)
        answer = await self.agent.call(manager_url, "register_player", request)
        self.me, self.token = answer["player_id"], answer["auth_token"]

    async def join(self, asked: Message) -> Message:
        """Accept an invitation."""
        return self._say("GAME_JOIN_ACK", asked, accept=True, auth_token=self.token)

    async def choose(self, asked: Message) -> Message:
        """Choose even or odd."""
        choice = random.choice(["even", "odd"])  # noqa: TID251
        said = {"parity_choice": choice, "auth_token": self.token}
        return self._say("CHOOSE_PARITY_RESPONSE", asked, **said)

    async def game_over(self, told: Message) -> Message:
        """Remember a result."""
        self.history.append(told["game_result"])
        return await self.acknowledge(told)

    async def update_standings(self, told: Message) -> Message:
        """Remember the table."""
        self.standings = told["standings"]
        return await self.acknowledge(told)

    async def acknowledge(self, told: Message) -> Message:
        """Say that it was heard."""
        return self._say(told["message_type"] + "_ACK", told, status="ACKNOWLEDGED")

    def _say(self, message_type: str, about: Message, **fields: object) -> Message:
        return message(message_type, f"player:{self.me}", about, player_id=self.me, **fields)


class Referee:
    """Invites, asks, has the manager decide, tells both players, and reports."""

    def __init__(self) -> None:
        self.me, self.token, self.manager_url = "", "", ""
        self.agent = Agent({"notify_round": self.play, "notify_round_completed": self.acknowledge})
        self._matches = set[asyncio.Task[None]]()

    async def register(self, manager_url: str, name: str) -> None:
        """Tell the manager where this referee is."""
        await self.agent.start()
        self.manager_url = manager_url
        meta = {"display_name": name, "contact_endpoint": self.agent.url}
        request = message("REFEREE_REGISTER_REQUEST", f"referee:{name}", {}, referee_meta=meta)
        answer = await self.agent.call(manager_url, "register_referee", request)
        self.me, self.token = answer["referee_id"], answer["auth_token"]

    async def play(self, told: Message) -> Message:
        """Begin the matches of a round."""
        for match in told["matches"]:
            match |= {"round_id": told["round_id"], "conversation_id": match["match_id"].lower()}
            task = asyncio.create_task(self._play(match))
            self._matches.add(task)
            task.add_done_callback(self._matches.discard)
        return await self.acknowledge(told)

    async def acknowledge(self, told: Message) -> Message:
        """Say that it was heard."""
        return self._say(told["message_type"] + "_ACK", told, status="ACKNOWLEDGED")

    async def _play(self, match: Message) -> None:
        await self._both(match, "handle_game_invitation", "GAME_INVITATION")
        answers = await self._both(match, "parity_choose", "CHOOSE_PARITY_CALL")
        moves = [[0, answer["player_id"], answer["parity_choice"]] for answer in answers]
        decided = await self._tell(match, "lock_moves", "LOCK_REQUEST", moves=moves)
        result = decided["result"]
        told = {"game_result": result["game_result"]}
        await self._both(match, "notify_match_result", "GAME_OVER", **told)
        await self._tell(match, "report_match_result", "MATCH_RESULT_REPORT", result=result)

    async def _both(
        self, match: Message, method: str, message_type: str, **fields: object
    ) -> list[Message]:
        calls = []
        for seat, other in ("AB", "BA"):
            players = {"player_id": match[f"player_{seat}_id"], "role_in_match": f"PLAYER_{seat}"}
            players["opponent_id"] = match[f"player_{other}_id"]
            said = self._say(message_type, match, **players, **fields)
            calls.append(self.agent.call(match[f"player_{seat}_endpoint"], method, said))
        return await asyncio.gather(*calls)

    async def _tell(
        self, match: Message, method: str, message_type: str, **fields: object
    ) -> Message:
        said = self._say(message_type, match, auth_token=self.token, **fields)
        return await self.agent.call(self.manager_url, method, said)

    def _say(self, message_type: str, about: Message, **fields: object) -> Message:
        return message(message_type, f"referee:{self.me}", about, **fields)
