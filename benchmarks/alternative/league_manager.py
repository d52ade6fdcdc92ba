"""A manager: registers agents, announces rounds, decides matches in SQLite, keeps the table."""

import asyncio
import json
import random
import secrets
import sqlite3
from collections.abc import Iterable, Iterator

from rpc import Agent, Message

POINTS = {"wins": 3, "draws": 1, "losses": 0}
ROWS_MAX = 60  # of a table: a message has 10 KB, as the documents want it


class Manager(Agent):
    """Everybody meets everybody; each result is committed before the referee hears of it."""

    methods = ("register_player", "register_referee", "lock_moves", "report_match_result")

    def __init__(self, file: str) -> None:
        super().__init__("league_manager")
        self.players: dict[str, Message] = {}  # id -> its row of the table
        self.urls: dict[str, str] = {}  # of the players
        self.referees: dict[str, str] = {}  # URL -> token
        self._open, self._round_over = 0, asyncio.Event()  # matches that are not reported
        self._database = sqlite3.connect(file)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE results (match_id TEXT PRIMARY KEY, result TEXT)")

    async def register_player(self, asked: Message) -> Message:
        """Add a player."""
        player_id, name = f"P{len(self.players) + 1:02}", asked["meta"]["display_name"]
        counts = dict.fromkeys(("played", *POINTS, "points"), 0)
        self.players[player_id] = {"player_id": player_id, "display_name": name, **counts}
        self.urls[player_id] = asked["meta"]["contact_endpoint"]
        told = {"agent_id": player_id, "auth_token": secrets.token_hex(32)}
        return self.say("PLAYER_REGISTER_RESPONSE", asked, status="ACCEPTED", **told)

    async def register_referee(self, asked: Message) -> Message:
        """Add a referee."""
        token = self.referees[asked["meta"]["contact_endpoint"]] = secrets.token_hex(32)
        told = {"agent_id": f"REF{len(self.referees):02}", "auth_token": token}
        return self.say("REFEREE_REGISTER_RESPONSE", asked, status="ACCEPTED", **told)

    async def lock_moves(self, asked: Message) -> Message:
        """Draw a number, decide the match, write the result down."""
        self._check(asked)
        choices = {player_id: choice for _, player_id, choice in asked["moves"]}
        number = random.randint(1, 10)  # noqa: TID251
        parity = "odd" if number % 2 else "even"
        right = [each for each, choice in choices.items() if choice == parity]
        winner = right[0] if len(right) == 1 else None
        score = {each: 3 * (each == winner) if winner else 1 for each in choices}
        shown = {"status": "WIN" if winner else "DRAW", "winner_player_id": winner}
        shown |= {"drawn_number": number, "number_parity": parity, "choices": choices}
        result = {"winner": winner, "score": score, "game_result": shown}
        with self._database:
            row = (asked["match_id"], json.dumps(result))
            self._database.execute("INSERT INTO results VALUES (?, ?)", row)
        return self.say("LOCK_RESPONSE", asked, result=result)

    async def report_match_result(self, asked: Message) -> Message:
        """Count a match in the table."""
        self._check(asked)
        winner, score = asked["result"]["winner"], asked["result"]["score"]
        for player_id in score:
            kind = "draws" if winner is None else "wins" if player_id == winner else "losses"
            for name, more in (("played", 1), (kind, 1), ("points", POINTS[kind])):
                self.players[player_id][name] += more
        self._open -= 1
        if not self._open:
            self._round_over.set()
        return self.say("MATCH_RESULT_ACK", asked, status="ACCEPTED")

    async def play_round(self, round_id: int, pairs: list[tuple[str, str]]) -> None:
        """Announce it, wait for all reports, send the table."""
        self._open = len(pairs)
        self._round_over.clear()
        about = {"round_id": round_id, "conversation_id": f"round-{round_id}"}
        referees, players = list(self.referees), list(self.urls.values())
        matches = [
            {
                "match_id": f"R{round_id}M{number + 1}",
                "game_type": "even_odd",
                "player_A_id": first,
                "player_B_id": second,
                "referee_endpoint": referees[number % len(referees)],
            }
            for number, (first, second) in enumerate(pairs)
        ]
        told = self.say("ROUND_ANNOUNCEMENT", about, matches=matches)
        await self._broadcast(players, "notify_round", told)
        for match in matches:
            for seat in "AB":
                match[f"player_{seat}_endpoint"] = self.urls[match[f"player_{seat}_id"]]
        for url in referees:
            own = [match for match in matches if match["referee_endpoint"] == url]
            told = self.say("ROUND_ANNOUNCEMENT", about, matches=own)
            await self.call(url, "notify_round", told)
        await self._round_over.wait()
        ranked = sorted(self.players.values(), key=lambda row: -row["points"])
        rows = [{"rank": rank, **row} for rank, row in enumerate(ranked[:ROWS_MAX], 1)]
        told = self.say("LEAGUE_STANDINGS_UPDATE", about, standings=rows)
        await self._broadcast(players, "update_standings", told)
        told = self.say("ROUND_COMPLETED", about, matches_completed=len(pairs))
        await self._broadcast([*players, *referees], "notify_round_completed", told)

    async def _broadcast(self, urls: Iterable[str], method: str, told: Message) -> None:
        await asyncio.gather(*(self.call(url, method, told) for url in urls))

    def _check(self, asked: Message) -> None:
        if asked["auth_token"] not in self.referees.values():
            raise PermissionError(asked["sender"])


def schedule(players: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Rounds of an even number of players, without end: the first stays, the others move on."""
    while True:
        half = len(players) // 2
        yield list(zip(players[:half], reversed(players[half:]), strict=True))
        players = [players[0], players[-1], *players[1:-1]]
