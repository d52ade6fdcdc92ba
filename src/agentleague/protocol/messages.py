"""Every message of league.v2: one class each, one table for all.

Fields are the union of the five documents, then ours. A field that is always sent has a plain
default, so that a peer may leave it out; one that may be absent is UNSET; one without a default is
required. Unknown fields are ignored.
"""

from typing import Annotated, Any, Literal, NamedTuple, dataclass_transform

from msgspec import UNSET, Meta, Struct, UnsetType

PROTOCOL = "league.v2"

Id = Annotated[str, Meta(max_length=64)]
ConversationId = Annotated[str, Meta(max_length=128)]
Url = Annotated[str, Meta(max_length=256)]
Token = Annotated[str, Meta(max_length=256)]
QuestionType = Literal["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"]
Text = Annotated[str, Meta(max_length=500)]
Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Accept = Annotated[Any, Meta(extra_json_schema={"type": "boolean"})]  # The match checks it.
Status = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
JsonObject = dict[str, Any]


@dataclass_transform(frozen_default=True)
class Part(Struct, frozen=True, gc=False):
    """An object inside a message."""


@dataclass_transform(frozen_default=True)
class Message(Struct, frozen=True, kw_only=True, gc=False, tag_field="message_type"):
    """The envelope: the fields that every message has."""

    protocol: Id = PROTOCOL
    sender: Id = ""
    timestamp: Id = ""
    conversation_id: ConversationId = ""
    auth_token: Token | UnsetType = UNSET


class Ack(Message):
    """That a message was taken."""

    status: Id = "ACKNOWLEDGED"
    player_id: Id = ""


class RoundAck(Ack):
    """That a message about a round was."""

    round_id: Int = 0


class Receipt(Part):
    """Names a journal row, so that its holder can prove it was there."""

    seq: Int
    hash: Id
    generation: Int | UnsetType = UNSET
    seal: Id | UnsetType = UNSET


class Draw(Part):
    """All that anybody needs to recompute what was drawn in a match."""

    commitment: Id
    seed: Id
    moves: list[tuple[Int, Id, Any]] = []
    generation: Int | UnsetType = UNSET


class Rules(Part):
    """The league's rules, as a referee needs them."""

    join_seconds: float = 5.0
    move_seconds: float = 30.0
    game_over_seconds: float = 5.0
    reply_seconds: float = 10.0
    game_options: JsonObject = {}
    retries: Int = 3
    join_retries: Int = 3
    retry_delay_seconds: float = 2.0
    retry_backoff: float = 1.0
    unsigned_pushes: bool = True
    missing_fields: Id | UnsetType = UNSET
    patience: Literal["documents", "learning"] | UnsetType = UNSET


# Registration


class RefereeMeta(Part):
    """What a referee says of itself."""

    display_name: Text
    contact_endpoint: Url
    version: Id = ""
    game_types: list[Id] = []
    max_concurrent_matches: Annotated[int, Meta(ge=1, le=1000)] = 1
    protocol_version: Id | UnsetType = UNSET
    locks: bool | UnsetType = UNSET
    join_code: Id | UnsetType = UNSET
    referee_code: Id | UnsetType = UNSET
    claim: Id | UnsetType = UNSET
    proofs: bool | UnsetType = UNSET
    receipt: Receipt | UnsetType = UNSET


class RefereeRegisterRequest(Message, tag="REFEREE_REGISTER_REQUEST"):
    """A referee asks to referee matches of the league."""

    referee_meta: RefereeMeta


class RefereeRegisterResponse(Message, tag="REFEREE_REGISTER_RESPONSE"):
    """The manager takes a referee in, or says why not."""

    status: Literal["ACCEPTED", "REJECTED", "REGISTERED"]
    referee_id: Id | None = None
    league_id: Id = ""
    reason: Text | None = None
    session: Id | UnsetType = UNSET
    lease_seconds: float | UnsetType = UNSET
    proofs: bool | UnsetType = UNSET
    waiting: bool | UnsetType = UNSET
    display_name_effective: Text | UnsetType = UNSET
    hint: Text | UnsetType = UNSET
    error_code: Id | UnsetType = UNSET
    code: Int | UnsetType = UNSET
    warnings: list[Text] | UnsetType = UNSET


class PlayerMeta(Part):
    """What a player says of itself."""

    display_name: Text
    contact_endpoint: Url
    version: Id = ""
    game_types: list[Id] = []
    protocol_version: Id | UnsetType = UNSET
    join_code: Id | UnsetType = UNSET
    claim: Id | UnsetType = UNSET
    proofs: bool | UnsetType = UNSET
    receipt: Receipt | UnsetType = UNSET
    seat: bool | UnsetType = UNSET


class LeagueRegisterRequest(Message, tag="LEAGUE_REGISTER_REQUEST"):
    """A player asks to take part in the league."""

    player_meta: PlayerMeta


class LeagueRegisterResponse(Message, tag="LEAGUE_REGISTER_RESPONSE"):
    """The manager takes a player in, or says why not."""

    status: Literal["ACCEPTED", "REJECTED", "REGISTERED"]
    player_id: Id | None = None
    league_id: Id = ""
    reason: Text | None = None
    match_tokens: bool | UnsetType = UNSET
    proofs: bool | UnsetType = UNSET
    game_options: JsonObject | UnsetType = UNSET
    display_name_effective: Text | UnsetType = UNSET
    hint: Text | UnsetType = UNSET
    error_code: Id | UnsetType = UNSET
    code: Int | UnsetType = UNSET
    warnings: list[Text] | UnsetType = UNSET
    seat: Id | UnsetType = UNSET
    seats: bool | UnsetType = UNSET


class EndpointChallenge(Message, tag="ENDPOINT_CHALLENGE"):
    """The manager asks whoever listens at an end point whether a registration is its own; ours."""

    claim_digest: Id


class EndpointProof(Message, tag="ENDPOINT_PROOF"):
    """The listener says whether the claim with that digest is its own; ours."""

    proved: bool


# Rounds and standings


class PlayerRecord(Part):
    """A player's standing so far, in short."""

    wins: Int = 0
    losses: Int = 0
    draws: Int = 0
    points: Int = 0


class Seated(Part):
    """One player of a match, as its referee needs to know it."""

    player_id: Id
    endpoint: Url
    display_name: Text = ""
    record: PlayerRecord = PlayerRecord()
    match_token: Token = ""
    push_token: Token = ""
    digests: list[Id] = []
    suspended: bool = False
    dialect: Id | UnsetType = UNSET
    timed_out: QuestionType | UnsetType = UNSET
    seat: bool | UnsetType = UNSET


class RoundMatch(Part):
    """One match of a round; what follows the commitment is in its referee's copy only."""

    match_id: Id
    game_type: Id = ""
    player_A_id: Id = ""
    player_B_id: Id = ""
    referee_endpoint: Url = ""
    draw_commitment: Id | UnsetType = UNSET
    draw_generation: Int | UnsetType = UNSET
    referee_id: Id | UnsetType = UNSET
    player_A_endpoint: Url | UnsetType = UNSET
    player_B_endpoint: Url | UnsetType = UNSET
    epoch: Int | UnsetType = UNSET
    seats: list[Seated] | UnsetType = UNSET
    locks: Int | UnsetType = UNSET
    decided: bool | UnsetType = UNSET
    player_A_name: Text | UnsetType = UNSET
    player_B_name: Text | UnsetType = UNSET


class RoundAnnouncement(Message, tag="ROUND_ANNOUNCEMENT"):
    """The manager says who meets whom; a referee's copy is its assignment."""

    league_id: Id = ""
    round_id: Int = 0
    matches: list[RoundMatch] = []
    byes: list[Id] = []
    total: Int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    session: Id | UnsetType = UNSET
    rules: Rules | UnsetType = UNSET


class StartMatch(Message, tag="START_MATCH"):
    """A foreign manager gives a referee matches to run; ours."""

    matches: list[RoundMatch]
    league_id: Id = ""
    round_id: Int = 1


class RoundAnnouncementAck(RoundAck, tag="ROUND_ANNOUNCEMENT_ACK"):
    """A player has heard of the round."""


class StandingRow(Part):
    """One row of the table."""

    rank: Int
    player_id: Id
    display_name: Text = ""
    played: Int = 0
    wins: Int = 0
    draws: Int = 0
    losses: Int = 0
    technical_losses: Int = 0
    points: Int = 0
    tie_break: Id | UnsetType = UNSET


class LeagueStandingsUpdate(Message, tag="LEAGUE_STANDINGS_UPDATE"):
    """The manager shows the table."""

    league_id: Id = ""
    round_id: Int = 0
    standings: list[StandingRow] = []
    total: Int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class StandingsUpdateAck(RoundAck, tag="STANDINGS_UPDATE_ACK"):
    """A player has seen the table."""


class RoundSummary(Part):
    """How the matches of a round ended; `wins` excludes technical ones."""

    total_matches: Int = 0
    wins: Int = 0
    draws: Int = 0
    technical_losses: Int = 0
    no_contests: Int = 0


class RoundCompleted(Message, tag="ROUND_COMPLETED"):
    """The manager says that a round is over."""

    league_id: Id = ""
    round_id: Int = 0
    matches_played: Int = 0
    matches_completed: Int = 0
    next_round_id: Int | None = None
    summary: RoundSummary = RoundSummary()
    receipt: Receipt | UnsetType = UNSET


class RoundCompletedAck(RoundAck, tag="ROUND_COMPLETED_ACK"):
    """A player knows that the round is over."""


class Champion(Part):
    """Who won the league."""

    player_id: Id
    display_name: Text = ""
    points: Int = 0


class LeagueCompleted(Message, tag="LEAGUE_COMPLETED"):
    """The manager says that the league is over."""

    league_id: Id = ""
    total_rounds: Int = 0
    total_matches: Int = 0
    champion: Champion | None = None
    final_standings: list[StandingRow] = []
    total: Int | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    session: Id | UnsetType = UNSET
    aborted: bool | UnsetType = UNSET
    champions: list[Champion] | UnsetType = UNSET
    champion_draw: Draw | UnsetType = UNSET


class LeagueCompletedAck(Ack, tag="LEAGUE_COMPLETED_ACK"):
    """A player knows that the league is over."""


# A match


class GameMessage(Message, kw_only=True):
    """What every message of a referee to a player carries."""

    league_id: Id = ""
    round_id: Int = 0
    match_id: Id = ""
    player_id: Id = ""
    epoch: Int = 1
    referee_endpoint: Url = ""


class GameInvitation(GameMessage, tag="GAME_INVITATION"):
    """A referee asks a player to sit down at a match."""

    game_type: Id = ""
    role_in_match: Id = ""
    opponent_id: Id = ""


class GameJoinAck(Message, tag="GAME_JOIN_ACK"):
    """A player accepts or declines."""

    match_id: Id = ""
    player_id: Id = ""
    arrival_timestamp: Id = ""
    accept: Accept = True


class MoveContext(Part):
    """What a player is reminded of when it is to move."""

    opponent_id: Id = ""
    round_id: Int = 0
    your_standings: PlayerRecord = PlayerRecord()


class ChooseParityCall(GameMessage, tag="CHOOSE_PARITY_CALL"):
    """A referee asks a player for even or odd."""

    game_type: Id = ""
    context: MoveContext = MoveContext()
    deadline: Id = ""


class ChooseParityResponse(Message, tag="CHOOSE_PARITY_RESPONSE"):
    """A player says even or odd."""

    parity_choice: Any
    match_id: Id = ""
    player_id: Id = ""


class GameMoveCall(GameMessage, tag="GAME_MOVE_CALL"):
    """A referee asks a player for a move of any other game."""

    game_type: Id = ""
    turn: Int = 0
    position: Any = None
    legal_moves: list[Any] | None = None
    context: MoveContext = MoveContext()
    deadline: Id = ""


MoveCall = ChooseParityCall | GameMoveCall


class GameMoveResponse(Message, tag="GAME_MOVE_RESPONSE"):
    """A player makes a move."""

    move: Any
    match_id: Id = ""
    player_id: Id = ""


class PushAck(Message, tag="PUSH_ACK"):
    """A referee has got an answer that a player pushed; ours."""

    status: Id = "ACKNOWLEDGED"


class GameResult(Part):
    """How a match ended; the last fields are null where the game has no such thing."""

    status: Status
    winner_player_id: Id | None = None
    drawn_number: Int | None = None
    number_parity: Literal["even", "odd"] | None = None
    choices: dict[Id, Any] = {}
    reason: Text = ""
    no_contest: bool | UnsetType = UNSET
    game_details: dict[str, Any] | UnsetType = UNSET


class GameOver(GameMessage, tag="GAME_OVER"):
    """A referee tells both players how the match ended."""

    game_result: GameResult
    game_type: Id = ""
    reason: Text = ""
    draw: Draw | UnsetType = UNSET
    receipt: Receipt | UnsetType = UNSET


class GameOverAck(Ack, tag="GAME_OVER_ACK"):
    """A player knows how the match ended."""

    match_id: Id = ""


class RetryInfo(Part):
    """What still can be done about an error."""

    retry_count: Int = 0
    max_retries: Int = 0
    next_retry_at: Id | UnsetType = UNSET
    time_remaining: float | UnsetType = UNSET


class GameError(GameMessage, tag="GAME_ERROR"):
    """A referee tells a player what went wrong."""

    error_code: Id = ""
    error_name: Id = ""
    error_description: Text = ""
    error_message: Text = ""
    affected_player: Id = ""
    action_required: Text = ""
    game_state: Id = ""
    retryable: bool = False
    retry_count: Int = 0
    max_retries: Int = 0
    time_remaining: float | UnsetType = UNSET
    retry_info: RetryInfo = RetryInfo()
    context: JsonObject = {}
    consequence: Text = ""


class GameErrorAck(Ack, tag="GAME_ERROR_ACK"):
    """A player knows what went wrong."""

    match_id: Id = ""


# Locks and reports


class LockRequest(Message, tag="LOCK_REQUEST"):
    """A referee fixes the moves made so far; ours."""

    match_id: Id
    epoch: Int
    index: Int
    moves: list[tuple[Int, Id, Any]]
    forfeits: list[tuple[Id, Text]] = []


class LockedResult(Part):
    """The result of a match as the manager decided it."""

    winner: Id | None
    score: dict[Id, Int]
    game_result: GameResult


class LockResponse(Message, tag="LOCK_RESPONSE"):
    """The manager answers a lock with the value drawn, or with the result; ours."""

    match_id: Id
    index: Int
    value: Int | None = None
    moves: list[tuple[Int, Id, Any]] = []
    result: LockedResult | UnsetType = UNSET
    draw: Draw | UnsetType = UNSET
    receipt: Receipt | UnsetType = UNSET


class ResultDetails(Part):
    """What a match came to, in the words of the game."""

    drawn_number: Int | None = None
    choices: dict[Id, Any] = {}
    status: Status | None = None
    game_details: dict[str, Any] | UnsetType = UNSET
    ends: list[tuple[Id, Id]] | UnsetType = UNSET


class ReportedResult(Part):
    """A result as a referee reports it; the points are computed by the manager."""

    winner: Id | None
    score: dict[Id, Int] = {}
    details: ResultDetails = ResultDetails()


class Exchange(Struct, frozen=True, array_like=True, gc=False):
    """One attempt to get something out of a player, as its referee saw it; times in ms."""

    at: Int
    player_id: Id
    message: Id
    attempt: Int
    verdict: Text
    move: Any = None
    answered_after: Int | None = None
    note: Text = ""  # what it said instead, or how its answer named its sender, if not as asked


class MatchResultReport(Message, tag="MATCH_RESULT_REPORT"):
    """A referee reports how a match ended."""

    match_id: Id
    result: ReportedResult
    league_id: Id = ""
    round_id: Int = 0
    game_type: Id = ""
    epoch: Int | UnsetType = UNSET
    transcript: list[Exchange] | UnsetType = UNSET
    transcript_left_out: Int | UnsetType = UNSET
    silences: dict[Id, tuple[Int, bool]] | UnsetType = UNSET
    dialects: dict[Id, Id] | UnsetType = UNSET
    wrong_tokens: dict[Id, Id] | UnsetType = UNSET
    timed_out: dict[Id, QuestionType | None] | UnsetType = UNSET


class MatchResultAck(Message, tag="MATCH_RESULT_ACK"):
    """The manager holds the result; `matches` are further assignments."""

    status: Id = "ACCEPTED"
    match_id: Id = ""
    round_id: Int = 0
    duplicate: bool | UnsetType = UNSET
    receipt: Receipt | UnsetType = UNSET
    matches: list[RoundMatch] | UnsetType = UNSET
    warnings: list[Text] | UnsetType = UNSET


class StartMatchResponse(Message, tag="START_MATCH_RESPONSE"):
    """A referee runs the match, or says at once how it ended, in all words there are; ours."""

    status: Id = "ACCEPTED"
    accepted: bool = True
    success: bool = True
    match_id: Id = ""
    referee_id: Id = ""
    result: ReportedResult | UnsetType = UNSET
    winner: Id | UnsetType | None = UNSET
    winner_player_id: Id | UnsetType | None = UNSET
    score: dict[Id, Int] | UnsetType = UNSET
    drawn_number: Int | UnsetType | None = UNSET
    choices: dict[Id, Any] | UnsetType = UNSET


class AwaitedAnswer(Part):
    """What a referee waits for, if for long."""

    match_id: Id
    player_id: Id
    message: QuestionType
    time_remaining: float
    attempt: Int
    attempts: Int


class RefereeStatus(Message, tag="REFEREE_STATUS"):
    """A referee says which matches it is at; ours."""

    session: Id
    matches: list[Id] = []
    receipt: Receipt | UnsetType = UNSET
    states: dict[Id, Id] | UnsetType = UNSET
    awaited: list[AwaitedAnswer] | UnsetType = UNSET


class RefereeStatusAck(Message, tag="REFEREE_STATUS_ACK"):
    """The manager has heard from the referee; ours."""

    status: Id = "ACKNOWLEDGED"
    waiting: bool | UnsetType = UNSET


class MatchStateRequest(Message, tag="MATCH_STATE_REQUEST"):
    """Somebody asks a referee how far a match is; ours."""

    match_id: Id


class MatchStateResponse(Message, tag="MATCH_STATE_RESPONSE"):
    """A referee says how far a match is, and whom it waits for; ours."""

    match_id: Id
    game_state: Id
    epoch: Int = 1
    turn: Int = 0
    waiting_for: list[Id] = []


# Queries and errors


class LeagueQuery(Message, tag="LEAGUE_QUERY"):
    """An agent asks about the league."""

    query_type: Id
    league_id: Id = ""
    query_params: JsonObject = {}


class LeagueCommand(Message, tag="LEAGUE_COMMAND"):
    """The organiser, who holds the admin token, wants something done; ours."""

    command: Id
    params: JsonObject = {}


class LeagueCommandResponse(Message, tag="LEAGUE_COMMAND_RESPONSE"):
    """The manager did it, and says what; ours."""

    command: Id = ""
    said: Text = ""


class QueryError(Part):
    """Why a query has no answer."""

    error_code: Id
    error_name: Id = ""
    error_description: Text = ""


class LeagueQueryResponse(Message, tag="LEAGUE_QUERY_RESPONSE"):
    """The manager answers a query; the keys of `data` stand beside it too (document 001)."""

    query_type: Id = ""
    success: bool = True
    data: JsonObject | UnsetType = UNSET
    error: QueryError | UnsetType = UNSET
    standings: list[StandingRow] | UnsetType = UNSET
    current_round: Int | UnsetType = UNSET
    rounds: list[Any] | UnsetType = UNSET
    total_rounds: Int | UnsetType = UNSET
    total: Int | UnsetType = UNSET
    next_match: JsonObject | UnsetType | None = UNSET
    player_stats: JsonObject | UnsetType = UNSET
    status: Id | UnsetType = UNSET
    matches_completed: Int | UnsetType = UNSET
    total_matches: Int | UnsetType = UNSET
    players: Int | UnsetType = UNSET
    referees: Int | UnsetType = UNSET
    you: Id | UnsetType | None = UNSET
    warnings: list[Text] | UnsetType = UNSET


class LeagueErrorMessage(Message, tag="LEAGUE_ERROR"):
    """An agent's message was refused."""

    error_code: Id = ""
    error_name: Id = ""
    error_description: Text = ""
    error_message: Text = ""
    original_message_type: Id = ""
    affected_player: Id | UnsetType = UNSET
    action_required: Text = ""
    retryable: bool = False
    context: JsonObject = {}
    retry_info: RetryInfo | UnsetType = UNSET
    consequence: Text | UnsetType = UNSET


class LeagueErrorAck(Ack, tag="LEAGUE_ERROR_ACK"):
    """An agent knows what was refused; ours."""


Participant = Literal[
    "manager", "referee", "player", "agent", "players", "both players", "everyone"
]


class Kind(NamedTuple):
    """One row of the table of messages."""

    cls: type[Message]
    sender: Participant
    receiver: Participant
    method: str | None = None  # None: it is only an answer
    answer: str | None = None  # the type of its answer
    ours: bool = False  # in none of the five documents

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other methods that it is called by, besides its type in any case."""
        return _ALIASES.get(self.cls, ())


_ROWS = (
    Kind(
        RefereeRegisterRequest,
        "referee",
        "manager",
        "register_referee",
        "REFEREE_REGISTER_RESPONSE",
    ),
    Kind(RefereeRegisterResponse, "manager", "referee"),
    Kind(LeagueRegisterRequest, "player", "manager", "register_player", "LEAGUE_REGISTER_RESPONSE"),
    Kind(LeagueRegisterResponse, "manager", "player"),
    Kind(EndpointChallenge, "manager", "everyone", "prove_endpoint", "ENDPOINT_PROOF", ours=True),
    Kind(EndpointProof, "agent", "manager", ours=True),
    Kind(RoundAnnouncement, "manager", "everyone", "notify_round", "ROUND_ANNOUNCEMENT_ACK"),
    Kind(RoundAnnouncementAck, "player", "manager"),
    Kind(LeagueStandingsUpdate, "manager", "players", "update_standings", "STANDINGS_UPDATE_ACK"),
    Kind(StandingsUpdateAck, "player", "manager"),
    Kind(RoundCompleted, "manager", "everyone", "notify_round_completed", "ROUND_COMPLETED_ACK"),
    Kind(RoundCompletedAck, "player", "manager"),
    Kind(LeagueCompleted, "manager", "everyone", "notify_league_completed", "LEAGUE_COMPLETED_ACK"),
    Kind(LeagueCompletedAck, "player", "manager"),
    Kind(GameInvitation, "referee", "player", "handle_game_invitation", "GAME_JOIN_ACK"),
    Kind(GameJoinAck, "player", "referee", "GAME_JOIN_ACK"),
    Kind(ChooseParityCall, "referee", "player", "parity_choose", "CHOOSE_PARITY_RESPONSE"),
    Kind(ChooseParityResponse, "player", "referee", "CHOOSE_PARITY_RESPONSE"),
    Kind(GameMoveCall, "referee", "player", "choose_move", "GAME_MOVE_RESPONSE", ours=True),
    Kind(GameMoveResponse, "player", "referee", "GAME_MOVE_RESPONSE", ours=True),
    Kind(PushAck, "referee", "player", ours=True),
    Kind(GameOver, "referee", "both players", "notify_match_result", "GAME_OVER_ACK"),
    Kind(GameOverAck, "player", "referee"),
    Kind(GameError, "referee", "player", "notify_game_error", "GAME_ERROR_ACK"),
    Kind(GameErrorAck, "player", "referee"),
    Kind(LockRequest, "referee", "manager", "lock_moves", "LOCK_RESPONSE", ours=True),
    Kind(LockResponse, "manager", "referee", ours=True),
    Kind(MatchResultReport, "referee", "manager", "report_match_result", "MATCH_RESULT_ACK"),
    Kind(MatchResultAck, "manager", "referee"),
    Kind(RefereeStatus, "referee", "manager", "referee_status", "REFEREE_STATUS_ACK", ours=True),
    Kind(StartMatch, "manager", "referee", "start_match", "START_MATCH_RESPONSE", ours=True),
    Kind(StartMatchResponse, "referee", "manager", ours=True),
    Kind(RefereeStatusAck, "manager", "referee", ours=True),
    Kind(
        MatchStateRequest, "agent", "referee", "get_match_state", "MATCH_STATE_RESPONSE", ours=True
    ),
    Kind(MatchStateResponse, "referee", "agent", ours=True),
    Kind(LeagueCommand, "agent", "manager", "league_command", "LEAGUE_COMMAND_RESPONSE", ours=True),
    Kind(LeagueCommandResponse, "manager", "agent", ours=True),
    Kind(LeagueQuery, "agent", "manager", "league_query", "LEAGUE_QUERY_RESPONSE"),
    Kind(LeagueQueryResponse, "manager", "agent"),
    Kind(LeagueErrorMessage, "manager", "agent", "notify_league_error", "LEAGUE_ERROR_ACK"),
    Kind(LeagueErrorAck, "agent", "manager", ours=True),
)
_ALIASES: dict[type[Message], tuple[str, ...]] = {
    RefereeRegisterRequest: ("referee_register",),
    LeagueRegisterRequest: ("league_register", "register", "register_request"),
    LeagueStandingsUpdate: ("standings_update",),
    ChooseParityCall: ("choose_parity",),
    StartMatch: (
        *("assign_match", "run_match", "match_assignment", "match_assigned", "match_start"),
        *("play_match", "begin_match", "start_game", "handle_match_assignment"),
    ),
    LeagueQuery: ("get_standings",),
}


def tag_of(cls: type[Message]) -> str:
    """The message_type that a class stands for."""
    return str(cls.__struct_config__.tag)


MESSAGES: dict[str, Kind] = {tag_of(kind.cls): kind for kind in _ROWS}
WIRE_NAME: dict[type[Message], str] = {kind.cls: name for name, kind in MESSAGES.items()}

# method in lower case -> message type
METHODS: dict[str, str] = {
    alias.lower(): name
    for name, kind in MESSAGES.items()
    if kind.method
    for alias in (kind.method, name, *kind.aliases)
}
