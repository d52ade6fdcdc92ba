"""What each field of a message means, with an example, for the JSON Schema.

A note has the name of its field, or `Class.field` if the name has several meanings. A test compares
the notes and the fields. The examples of the fields together make an example of every message.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, inspect

from agentleague.protocol.messages import MESSAGES


class Note(NamedTuple):
    """A sentence, a value as it may be sent, and the format of a text that has one."""

    text: str
    example: Any = ...  # none where an object is described by itself
    format: str = ""


TIME, URL = "date-time", "uri"
_NOW = "2026-03-04T09:00:00Z"
_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_SCORE = {"P01": 3, "P02": 0}
_MOVES = [[0, "P01", "even"], [0, "P02", "odd"]]

# fmt: off
NOTES: dict[str, Note] = {
    # The envelope
    "protocol": Note("Always `league.v2`, or a later minor version of it.", "league.v2"),
    "sender": Note(
        "Who sends it: `league_manager`, `referee:REF01`, `player:P01`; by its name before it has "
        "an id. Nobody is believed for it.",
        "player:P01",
    ),
    "timestamp": Note("When it was sent, in UTC.", _NOW, TIME),
    "conversation_id": Note("Made by the caller; an answer repeats it.", "conv-r1m1-001"),
    "auth_token": Note(
        "What proves who sends it. To the manager: the token of the registration's answer. Between "
        "referee and player: the token of their match.",
        "tok_p01_3f9c2b7d1e8a4c60",
    ),
    # Who somebody is
    "display_name": Note("The name that people see.", "Agent Alpha"),
    "display_name_effective": Note(
        "The name under which the agent is shown, where it is not the one it asked for.",
        "Agent Alpha (P02)",
    ),
    "contact_endpoint": Note("Where the agent is called.", "http://127.0.0.1:8101/mcp", URL),
    "endpoint": Note("Where the player is called.", "http://127.0.0.1:8101/mcp", URL),
    "referee_endpoint": Note("Where the referee is called.", "http://127.0.0.1:8001/mcp"),
    "player_A_endpoint": Note("Where player A is called.", "http://127.0.0.1:8101/mcp", URL),
    "player_B_endpoint": Note("Where player B is called.", "http://127.0.0.1:8102/mcp", URL),
    "version": Note("The agent's own version.", "1.0.0"),
    "protocol_version": Note("The version of the protocol that it speaks.", "2.1.0"),
    "game_types": Note("The games that it knows; none named: any.", ["even_odd"]),
    "max_concurrent_matches": Note("How many matches it referees at once.", 64),
    "join_code": Note("What the organiser told those who may register.", "tipuf-sajil-gikop"),
    "referee_code": Note("What the organiser told those who may referee.", "lusab-bagod-gutuh"),
    "waiting": Note("True: it is given no match until the organiser lets it in.", True),
    "claim": Note(
        "A random text of the agent's own, which it repeats when it registers again, and shows to "
        "nobody else. The manager shows its digest at the end point: ENDPOINT_CHALLENGE.",
        "5d0c1f7e9b3a4d62",
    ),
    "claim_digest": Note("SHA-256 of the claim of a registration with this end point.", _HASH),
    "proved": Note("Whether that claim is the listener's own.", True),
    "RefereeMeta.proofs": Note("Whether it wants the manager's messages proved.", True),
    "PlayerMeta.proofs": Note("Whether it wants the manager's messages proved.", True),
    "PlayerMeta.seat": Note(
        "True: it cannot be called, and asks for a seat at the manager; `contact_endpoint` may be "
        "empty then, and does not count. False: it could use one.",
        True,
    ),
    "referee_meta": Note("What the referee says of itself."),
    "player_meta": Note("What the player says of itself."),
    "RefereeMeta.locks": Note("Whether it locks moves with the manager (LOCK_REQUEST).", True),
    "referee_id": Note("The referee's id in this league.", "REF01"),
    "player_id": Note("The player's id in this league.", "P01"),
    "opponent_id": Note("The id of the other player.", "P02"),
    "league_id": Note("The league.", "league_2026_even_odd"),
    # Whether somebody is taken in
    "RefereeRegisterResponse.status": Note("Whether it is in; REGISTERED means yes.", "ACCEPTED"),
    "LeagueRegisterResponse.status": Note("Whether it is in; REGISTERED means yes.", "ACCEPTED"),
    "RefereeRegisterResponse.reason": Note("Why it is rejected, in a word or two.", None),
    "LeagueRegisterResponse.reason": Note("Why it is rejected, in a word or two.", None),
    "hint": Note("Why it is rejected, and what to do, in a sentence.", "the league is full"),
    "code": Note("The number of the error, as in a JSON-RPC error.", 3002),
    "match_tokens": Note("Whether referees show the player match tokens; ours say so.", True),
    "proofs": Note("Whether the manager will prove its messages (X-League-Proof).", True),
    "LeagueRegisterResponse.seat": Note(
        "The path of its seat at the manager: it fetches its calls at `open` and `poll` below it.",
        "/seats/P01",
    ),
    "LeagueRegisterResponse.seats": Note("True: a player may ask for a seat.", True),
    "Seated.seat": Note("True: the end point is a seat at the manager.", True),
    "session": Note("Names this registration of the referee; it repeats it.", "ses_81c0f3a2"),
    "lease_seconds": Note("A referee silent for so long loses its matches.", 10.0),
    "warnings": Note(
        "What was missing in the message, or did not fit, and was taken all the same.",
        ["player_meta.version"],
    ),
    # Rounds
    "round_id": Note("The round, counted from 1.", 1),
    "next_round_id": Note("The round that comes; null after the last.", 2),
    "matches": Note("The matches of the round; a referee's copy has those that it is to run."),
    "MatchResultAck.matches": Note("Further matches for this referee to run."),
    "RefereeStatus.matches": Note("The ids of the matches that it is at.", ["R1M1"]),
    "states": Note("How far each of them is.", {"R1M1": "COLLECTING_CHOICES"}),
    "byes": Note("Who does not play in this round.", ["P05"]),
    "total": Note("How many rows there are, where not all are here.", 30),
    "truncated": Note("True where not all rows are here.", True),
    "rules": Note("In a referee's copy: the rules of the league."),
    "match_id": Note("The match: its round, and its number in it.", "R1M1"),
    "game_type": Note("The game.", "even_odd"),
    "player_A_id": Note("Who sits at A.", "P01"),
    "player_B_id": Note("Who sits at B.", "P02"),
    "player_A_name": Note("What A is called, where the table does not say it.", "Agent Alpha"),
    "player_B_name": Note("What B is called, where the table does not say it.", "Agent Beta"),
    "draw_commitment": Note("SHA-256 that seals the seed of the match's draws.", _HASH),
    "draw_generation": Note("Higher where a match is drawn anew after a loss of rows.", 217500000),
    "epoch": Note("Higher each time a referee is given the match; first 1 or draw_generation.", 1),
    "seats": Note("In a referee's copy: both players, A first."),
    "RoundMatch.locks": Note("How many locks a former referee of the match has made.", 0),
    "decided": Note("Whether the match is decided: only its players are to be told.", False),
    "record": Note("How the player stands."),
    "match_token": Note("The auth_token of what the referee sends to this player.", "mtok_5b1f"),
    "push_token": Note("What the player shows to the referee.", "mtok_77aa"),
    "digests": Note("SHA-256 of other tokens by which the player may be known.", [_HASH]),
    "suspended": Note("Whether it was silent so often that it is asked once only.", False),
    "timed_out": Note("Of which question it let every attempt run out; it is asked once only."),
    "dialect": Note("How it wants to be spoken to, where that is known.", "type"),
    "matches_played": Note("How many matches of the round were played.", 2),
    "matches_completed": Note("How many matches are over.", 2),
    "summary": Note("How the matches of the round ended."),
    "total_matches": Note("How many matches there are.", 6),
    "total_rounds": Note("How many rounds there are.", 3),
    "no_contests": Note("Matches that count for neither player.", 0),
    # Rules
    "join_seconds": Note("How long a player may take to join.", 5.0),
    "move_seconds": Note("How long a player may take for a move.", 30.0),
    "game_over_seconds": Note("How long a player may take to acknowledge the end.", 5.0),
    "reply_seconds": Note("How long everything else may take.", 10.0),
    "game_options": Note("Options of the game.", {}),
    "retries": Note("How often a move is asked for again.", 3),
    "join_retries": Note("How often an invitation is sent again.", 3),
    "retry_delay_seconds": Note("How long the first retry waits.", 2.0),
    "retry_backoff": Note("By how much each further retry waits longer.", 1.0),
    "unsigned_pushes": Note("Whether a pushed answer counts without a token.", True),
    "missing_fields": Note("`refuse`: answers have all of document 004's fields.", "warn"),
    "patience": Note("Whether `timed_out` counts (`learning`) or not (`documents`).", "learning"),
    # The table
    "standings": Note("The table, its first row the leader."),
    "final_standings": Note("The table at the end."),
    "rank": Note("The place in the table, from 1.", 1),
    "played": Note("Matches played.", 3),
    "wins": Note("Matches won.", 2),
    "RoundSummary.wins": Note("Matches won by playing, not by a technical loss.", 1),
    "draws": Note("Matches drawn.", 0),
    "losses": Note("Matches lost.", 1),
    "technical_losses": Note("Matches lost without a game: silence, or no legal move.", 0),
    "points": Note("Points.", 6),
    "champion": Note("Who won the league; null where nobody did."),
    "champions": Note("Who share rank 1, ten at most; the first is the champion, drawn by lot."),
    "champion_draw": Note("How the champion was drawn, where more than one share rank 1."),
    "tie_break": Note("What put it behind the rank above, with equal points.", "head_to_head"),
    "aborted": Note("True where the organiser ended the league early.", True),
    "status": Note("That the message was taken.", "ACKNOWLEDGED"),
    # A match
    "role_in_match": Note("The seat: `PLAYER_A` or `PLAYER_B`.", "PLAYER_A"),
    "accept": Note("Whether the player joins.", True),
    "arrival_timestamp": Note("When the invitation arrived, in UTC.", _NOW, TIME),
    "context": Note("What the player is reminded of."),
    "deadline": Note("Until when the move must have come, in UTC.", "2026-03-04T09:00:30Z", TIME),
    "your_standings": Note("How the player stands."),
    "parity_choice": Note("`even` or `odd`.", "even"),
    "turn": Note("How many turns were played before this one.", 0),
    "position": Note("The game as this player sees it; its shape is the game's.", "         "),
    "legal_moves": Note("Every legal move; null where there are too many.", [0, 4, 8]),
    "move": Note("The move; its shape is the game's.", 4),
    "game_result": Note("How the match ended."),
    "GameOver.reason": Note("Why it ended so, in a sentence.", "P01 chose even, the number was 8"),
    "GameResult.reason": Note("Why it ended so, in a sentence.", "P01 chose even, and it was 8"),
    "GameResult.status": Note("How it ended.", "WIN"),
    "ResultDetails.status": Note("How it ended.", "WIN"),
    "winner_player_id": Note("Who won; null where nobody did.", "P01"),
    "drawn_number": Note("The number drawn; null where the game draws none.", 8),
    "number_parity": Note("Its parity; null where there is no number.", "even"),
    "choices": Note("What each player chose; null: nothing.", {"P01": "even", "P02": "odd"}),
    "game_details": Note(
        "What else the game says of its end, seat A first; not sent where it says nothing. "
        "`left_out` names parts for which the message had no room.",
        {"wins": [2, 0], "throws": [["rock", "scissors"], ["paper", "rock"]]},
    ),
    "ends": Note(
        "All that a foreign report says of who won and who did not, as the manager reads it; not "
        "sent otherwise.",
        [["P01", "WIN"], ["P02", "LOSS"]],
    ),
    "no_contest": Note("True where the match counts for neither player.", True),
    "draw": Note("What anybody needs to recompute the draws of the match."),
    "commitment": Note("The draw_commitment of the announcement.", _HASH),
    "seed": Note("What the commitment sealed, as hexadecimal digits.", _HASH),
    "moves": Note("The moves: turn, player, move.", _MOVES),
    "receipt": Note("The row of the manager's journal that says so."),
    "seq": Note("The number of the row.", 41),
    "hash": Note("Its hash, as hexadecimal digits.", _HASH),
    "generation": Note("The draw_generation; absent while no rows were lost.", 217500000),
    "seal": Note("Proves to the manager that it gave this receipt.", "91b5"),
    "RefereeMeta.receipt": Note("The last receipt that its manager gave it."),
    "RefereeStatus.receipt": Note("The last receipt that its manager gave it."),
    "PlayerMeta.receipt": Note("The last receipt that its manager gave it."),
    # Locks and reports
    "index": Note("The number of the lock in the match, from 0.", 0),
    "forfeits": Note("Who lost the match without a game, and why.", [["P02", "timeout"]]),
    "value": Note("The value drawn, where the match goes on.", 8),
    "LockResponse.moves": Note("The moves locked; with a result they are in `draw`.", _MOVES),
    "LockResponse.result": Note("The result, where the match is decided."),
    "MatchResultReport.result": Note("How the match ended."),
    "winner": Note("Who won; null where nobody did.", "P01"),
    "score": Note("The points of each player.", _SCORE),
    "details": Note("The same in the words of the game."),
    "transcript": Note("Every attempt to get something out of a player."),
    "transcript_left_out": Note("How many attempts were too many to tell.", 12),
    "silences": Note(
        "Of each player: how many attempts at the end had no answer, and whether any had one.",
        {"P01": [0, True], "P02": [3, True]},
    ),
    "dialects": Note("How players were understood, where not at once.", {"P02": "type"}),
    "wrong_tokens": Note("Whose answer was pushed with a wrong token.", {"P02": "GAME_JOIN_ACK"}),
    "MatchResultReport.timed_out": Note("Players who did that now; null: who answered again."),
    "duplicate": Note("True where the same was reported before.", True),
    "StartMatchResponse.status": Note("Whether it runs, or is over: `COMPLETED`.", "ACCEPTED"),
    "StartMatchResponse.result": Note("How the match ended, where it is over."),
    "StartMatch.matches": Note("The matches to run."),
    "accepted": Note("The same as a truth value.", True),
    "StartMatchResponse.success": Note("The same once more.", True),
    "MatchResultAck.status": Note("That the result is held.", "ACCEPTED"),
    "waiting_for": Note("The players whose answer is awaited.", ["P01"]),
    "awaited": Note("The answers that it has been waiting for, for a few seconds or longer."),
    "attempts": Note("How many attempts there are.", 4),
    "Exchange.at": Note("When, in ms after the match began.", 12),
    "message": Note("What it was asked.", "CHOOSE_PARITY_CALL"),
    "attempt": Note("The number of the attempt, from 1.", 1),
    "Exchange.verdict": Note("What came of it: `ok`, or why not.", "ok"),
    "Exchange.move": Note("The move that came.", "even"),
    "Exchange.answered_after": Note("How long the answer took, in ms.", 7),
    "Exchange.note": Note(
        "What the player said instead, or how its answer named its sender, if not as asked.", ""
    ),
    # Queries and commands
    "query_type": Note("What is asked, as GET_STANDINGS or GET_STATUS.", "GET_STATUS"),
    "query_params": Note("Of which player, round, match; which page (`offset`, `limit`).", {}),
    "success": Note("Whether there is an answer.", True),
    "data": Note(
        "The answer, by query. A match's `state` is `UNKNOWN` until its referee says it, and its "
        "`total` 0 until it is closed.",
        {"status": "RUNNING"},
    ),
    "error": Note("Why there is none."),
    "current_round": Note("The round that is played; 0 before the first.", 1),
    "rounds": Note("The rounds with their matches.", []),
    "next_match": Note("The player's next match; null where there is none.", None),
    "player_stats": Note("All about one player.", {}),
    "LeagueQueryResponse.status": Note("How far the league is.", "RUNNING"),
    "players": Note("How many players there are.", 4),
    "referees": Note("How many referees there are.", 2),
    "you": Note("The id of the caller, if its token says so.", "P01"),
    "command": Note("`start`, `pause`, `abort` or `remove`.", "remove"),
    "params": Note("What the command is about.", {"player_id": "P03"}),
    "said": Note("What was done, in a sentence.", "The league goes on."),
    # Errors
    "error_code": Note("Which error, as docs/reference/errors.md lists them.", "E012"),
    "error_name": Note("Its name.", "AUTH_TOKEN_INVALID"),
    "error_description": Note("Its name again, for agents that look here.", "AUTH_TOKEN_INVALID"),
    "error_message": Note("What happened, in a sentence.", "auth_token is not this league's"),
    "QueryError.error_description": Note("What happened, in a sentence.", "no such match"),
    "original_message_type": Note("The message that was refused.", "LEAGUE_QUERY"),
    "affected_player": Note("Whom it is about.", "P01"),
    "action_required": Note("What to do about it.", "Send the token that the manager gave you."),
    "GameError.action_required": Note("The message that is awaited.", "CHOOSE_PARITY_RESPONSE"),
    "game_state": Note("How far the match is.", "COLLECTING_CHOICES"),
    "retryable": Note("Whether sending it again can help.", False),
    "retry_count": Note("How often it was asked again.", 1),
    "max_retries": Note("How often it will be asked again at most.", 3),
    "next_retry_at": Note("When it is asked again, in UTC.", "2026-03-04T09:00:02Z", TIME),
    "time_remaining": Note("How many seconds are left to send it.", 21.5),
    "retry_info": Note("What still can be done."),
    "GameError.context": Note("Facts about the error, such as `valid_choices`.", {}),
    "LeagueErrorMessage.context": Note("Facts about the error, such as `field`.", {}),
    "consequence": Note("What happens if nothing is done.", "Technical loss"),
}
# fmt: on


def note_of(owner: str, field: str) -> Note:
    """The note of a field of this class."""
    own = NOTES.get(f"{owner}.{field}")
    return NOTES[field] if own is None else own


_SENDERS = {"manager": "league_manager", "referee": "referee:REF01"}
# Of the fields that may be absent those that an example has: as in the usual message.
_WITH_TOKEN = (
    *("GameInvitation", "GameJoinAck", "ChooseParityCall", "ChooseParityResponse", "GameMoveCall"),
    *("GameMoveResponse", "GameError", "LockRequest", "LeagueCommand", "LeagueQuery"),
)
_SENT_TOO: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_WITH_TOKEN, ("auth_token",)),
    "RefereeMeta": ("protocol_version", "locks", "proofs"),
    "PlayerMeta": ("protocol_version", "proofs"),
    "RoundMatch": ("draw_commitment",),
    "Rules": ("patience",),
    "RefereeRegisterResponse": ("auth_token", "session", "lease_seconds", "proofs"),
    "LeagueRegisterResponse": ("auth_token", "match_tokens", "proofs", "seats"),
    "RoundCompleted": ("receipt",),
    "LeagueCompleted": ("champions",),
    "GameOver": ("auth_token", "draw", "receipt"),
    "LockResponse": ("result", "draw", "receipt"),
    "MatchResultReport": ("auth_token", "epoch", "transcript", "silences"),
    "MatchResultAck": ("receipt",),
    "RefereeStatus": ("auth_token", "states"),
    "LeagueErrorMessage": ("affected_player", "retry_info"),
    "RetryInfo": ("next_retry_at",),
    "LeagueQueryResponse": (
        "data",
        *("status", "current_round", "total_rounds", "matches_completed", "total_matches"),
        *("players", "referees", "you"),
    ),
}


def example(name: str) -> dict[str, Any]:
    """A message of this type, as JSON has it."""
    kind = MESSAGES[name]
    fields = _object(kind.cls)
    fields["sender"] = _SENDERS.get(kind.sender, "player:P01")
    return {"message_type": name, **fields}


def _object(cls: type) -> dict[str, Any]:
    sent_too = _SENT_TOO.get(cls.__name__, ())
    return {
        field.name: _value(cls, field)
        for field in msgspec.structs.fields(cls)
        if field.default is not UNSET or field.name in sent_too
    }


def _value(cls: type, field: msgspec.structs.FieldInfo) -> Any:
    given = note_of(cls.__name__, field.name).example
    return _inside(inspect.type_info(field.type)) if given is ... else given


def _inside(kind: inspect.Type) -> Any:
    """An example of an object, or of a list of such."""
    if isinstance(kind, inspect.UnionType):  # An object that may be null or absent.
        kind = kind.types[0]
    if isinstance(kind, inspect.ListType):
        return [_inside(kind.item_type)]
    assert isinstance(kind, inspect.StructType)
    fields = _object(kind.cls)
    return list(fields.values()) if kind.array_like else fields
