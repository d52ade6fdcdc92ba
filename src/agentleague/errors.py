"""Every error this package raises on purpose, with what it is called on the wire.

LeagueError
├── ProtocolViolation        the peer broke the rules of the conversation
│   ├── UnreadableJson           not JSON, or JSON that two parsers read differently
│   ├── InvalidRequest           JSON, but not JSON-RPC 2.0 (a batch, no method, …)
│   ├── UnknownMethod            no message type goes by that name
│   ├── MessageTooLarge          over the limit of the receiver
│   ├── MissingField             a field is missing that nobody can act without
│   │   └── WrongType                a field is there, of another type or out of bounds
│   ├── InvalidTimestamp         a time that is not UTC
│   ├── MatchMismatch            a match that is not this sender's
│   ├── UnexpectedMessage        well formed, but not now
│   ├── NotStarted               the league has not begun
│   ├── AlreadyComplete          the league is over
│   ├── UnknownLeague            another league's id
│   ├── UnknownQuery             no such query type
│   └── DuplicateReport          the match was reported before
├── NotAuthorised            the peer may not do that
│   ├── TokenMissing
│   ├── TokenInvalid
│   └── NotRegistered
├── RegistrationRefused      well formed, but the league will not have it
│   ├── VersionMismatch
│   ├── LateRegistration
│   │   └── RegistrationAfterEnd
│   ├── LeagueFull
│   │   └── RefereesFull
│   ├── DuplicateName
│   ├── UnsupportedGame
│   └── EndpointNotAllowed
│       ├── EndpointTaken
│       └── EndpointUnreachable
│           └── RefereeUnreachable
├── IllegalMove              the player broke the rules of the game
├── PeerUnavailable          nobody gave a usable answer
│   ├── NoAnswer                 the time ran out
│   ├── NoConnection             no connection, or no usable HTTP
│   ├── RateLimited              too many requests
│   └── PeerRefused              the peer answered with an error of its own
├── InternalError            our own fault
└── StorageError             the journal could not be read or written
    ├── Claimed                  another manager writes there
    ├── Damaged                  a row is not what was written
    │   └── Lost                     rows that were committed are gone
    ├── StorageAway              no database now; the same may succeed later
    └── StorageFull              no room now; the same batch may succeed later
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

Numbers = Mapping[str, int]  # message type -> document 001's number

# Document 001 gives each method a number of its own for a bad token.
_TOKEN_NUMBERS = {
    **dict.fromkeys(("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE"), 3001),
    **dict.fromkeys(("ROUND_COMPLETED", "LEAGUE_COMPLETED"), 3001),
    **dict.fromkeys(("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"), 4001),
    **dict.fromkeys(("GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"), 4001),
    **dict.fromkeys(("GAME_OVER", "GAME_ERROR"), 4001),
    **dict.fromkeys(("MATCH_RESULT_REPORT", "LOCK_REQUEST", "REFEREE_STATUS"), 5001),
    "LEAGUE_QUERY": 6001,
}


class LeagueError(Exception):
    """Base class: the class attributes travel on the wire, `str()` is a sentence for a person."""

    code: ClassVar[str] = "E052"
    name: ClassVar[str] = "INTERNAL_ERROR"
    title: ClassVar[str] = ""  # document 001's words for its number, where it has an example
    number: ClassVar[int] = -32603  # JSON-RPC code where `numbers` has none for the method
    numbers: ClassVar[Numbers] = {}
    http_status: ClassVar[int] = 200
    severity: ClassVar[Literal["low", "medium", "high", "critical"]] = "high"
    retryable: ClassVar[bool] = False

    def __init__(self, sentence: str, **context: Any) -> None:
        super().__init__(sentence)
        self.context = context

    def number_for(self, message_type: str) -> int:
        """The `error.code` of an answer to a message of this type."""
        return self.numbers.get(message_type, self.number)


class ProtocolViolation(LeagueError):
    """The peer broke the rules of the conversation."""


class UnreadableJson(ProtocolViolation):
    """Not JSON, or JSON that two parsers would read differently; `context["kind"]` says which."""

    code, name, number = "E049", "UNREADABLE_JSON", -32700


class InvalidRequest(ProtocolViolation):
    """JSON, but not one JSON-RPC 2.0 request nor one bare message."""

    code, name, number = "E050", "INVALID_REQUEST", -32600


class UnknownMethod(ProtocolViolation):
    """Neither the method nor the message type is known to this agent."""

    code, name, number = "E051", "METHOD_NOT_FOUND", -32601


class MessageTooLarge(ProtocolViolation):
    """The body is longer than the receiver reads."""

    code, name, number, http_status = "E048", "MESSAGE_TOO_LARGE", -32600, 413


class MissingField(ProtocolViolation):
    """A field is missing that nobody can act without."""

    code, name, number = "E003", "MISSING_REQUIRED_FIELD", -32602


class WrongType(MissingField):
    """A field has another type or lies out of bounds; same wire code, `context["kind"]` differs."""


class InvalidTimestamp(ProtocolViolation):
    """A time that is not ISO 8601 in UTC."""

    code, name, number, severity = "E021", "INVALID_TIMESTAMP", -32602, "medium"


class MatchMismatch(ProtocolViolation):
    """The match is unknown, or not this sender's."""

    code, name, number = "E015", "MATCH_ID_MISMATCH", 4003
    numbers: ClassVar[Numbers] = {name: 5002 for name, n in _TOKEN_NUMBERS.items() if n == 5001}


class UnexpectedMessage(ProtocolViolation):
    """Well formed, but not now."""

    code, name, number = "E040", "INVALID_STATE", 4005


class NotStarted(ProtocolViolation):
    """The league has not begun."""

    code, name, number, severity, retryable = "E030", "LEAGUE_NOT_STARTED", 4005, "low", True


class AlreadyComplete(ProtocolViolation):
    """The league is over."""

    code, name, number = "E031", "LEAGUE_ALREADY_COMPLETE", 4005


class UnknownLeague(ProtocolViolation):
    """Another league's id."""

    code, name, number = "E045", "LEAGUE_NOT_FOUND", 6003


class UnknownQuery(ProtocolViolation):
    """No such query type."""

    code, name, number = "E046", "INVALID_QUERY_TYPE", 6002


class DuplicateReport(ProtocolViolation):
    """The match was reported before."""

    code, name, number, title = "E044", "DUPLICATE_REPORT", 5003, "Duplicate report"


class NotAuthorised(LeagueError):
    """The peer may not do that."""


class TokenMissing(NotAuthorised):
    """A token is needed and none was sent."""

    code, name, number, numbers = "E011", "AUTH_TOKEN_MISSING", 12, _TOKEN_NUMBERS


class TokenInvalid(NotAuthorised):
    """The token was not issued for this use."""

    code, name, number, numbers = "E012", "AUTH_TOKEN_INVALID", 12, _TOKEN_NUMBERS


class NotRegistered(NotAuthorised):
    """Nobody of that id is registered."""

    code, name, number = "E005", "PLAYER_NOT_REGISTERED", 3002
    numbers: ClassVar[Numbers] = {name: 4002 for name, n in _TOKEN_NUMBERS.items() if n == 4001}


class RegistrationRefused(LeagueError):
    """The registration is well formed, but the league will not have it, for this `reason`."""

    reason: ClassVar[str] = ""  # document 004's words where it has any


class VersionMismatch(RegistrationRefused):
    """The agent speaks a protocol version we do not."""

    code, name, number = "E018", "PROTOCOL_VERSION_MISMATCH", -32602
    reason = "Protocol version mismatch"


class LateRegistration(RegistrationRefused):
    """The league has begun."""

    code, name, number = "E019", "LATE_REGISTRATION", 4005
    reason = "Registration closed - league already started"


class RegistrationAfterEnd(LateRegistration):
    """The league is over; the wire code of all that comes after its end."""

    code, name = AlreadyComplete.code, AlreadyComplete.name
    reason = "Registration closed - league already complete"


class LeagueFull(RegistrationRefused):
    """No place is left."""

    code, name, number, title = "E020", "LEAGUE_FULL", 2001, "League full"
    numbers: ClassVar[Numbers] = {"REFEREE_REGISTER_REQUEST": 1001}
    reason = "Maximum players reached"


class RefereesFull(LeagueFull):
    """No place is left for a referee; same wire code."""

    reason = "Maximum referees already registered"


class DuplicateName(RegistrationRefused):
    """The display name is taken and the league wants unique ones."""

    code, name, number, title = "E041", "DUPLICATE_NAME", 2002, "Duplicate name"
    reason = "Display name already taken"


class UnsupportedGame(RegistrationRefused):
    """The agent does not play this league's game."""

    code, name, number, title = "E042", "UNSUPPORTED_GAME_TYPE", 2004, "Unsupported game type"
    numbers: ClassVar[Numbers] = {"REFEREE_REGISTER_REQUEST": 1003}
    reason = "Unsupported game type"


class EndpointNotAllowed(RegistrationRefused):
    """No http(s) URL, one that this league does not call, or one where nobody listens."""

    code, name, number, title = "E043", "ENDPOINT_NOT_ALLOWED", 2003, "Invalid endpoint"
    numbers: ClassVar[Numbers] = {"REFEREE_REGISTER_REQUEST": 1002}
    reason = "Contact endpoint not allowed"


class EndpointTaken(EndpointNotAllowed):
    """Another agent is at the end point, or this one may not leave its own; same wire code."""

    reason = "Contact endpoint belongs to another"


class EndpointUnreachable(EndpointNotAllowed):
    """Nobody listens at the end point of a player, and the league wants that; same wire code."""

    retryable = True
    reason = "Contact endpoint unreachable"


class RefereeUnreachable(EndpointUnreachable):
    """Nobody listens at the end point of a referee."""

    reason = "Endpoint unreachable"


class IllegalMove(LeagueError):
    """The player broke the rules of the game."""

    code, name, number, retryable = "E004", "INVALID_PARITY_CHOICE", 4004, True


class PeerUnavailable(LeagueError):
    """Nobody gave a usable answer."""

    retryable = True


class NoAnswer(PeerUnavailable):
    """The time ran out."""

    code, name, number = "E001", "TIMEOUT_ERROR", -1


UNREACHABLE, CLOSED = "unreachable", "closed"  # kinds of NoConnection, NoAnswer
NOT_CALLED = "not_called"  # in the context of a NoConnection: why this process may not call there


class NoConnection(PeerUnavailable):
    """No connection, or no usable HTTP answer."""

    code, name, number, severity = "E009", "CONNECTION_ERROR", -1, "critical"


class RateLimited(PeerUnavailable):
    """Too many requests; `context["retry_after"]` says when to try again."""

    code, name, number, http_status, severity = "E047", "RATE_LIMITED", -32029, 429, "low"


class PeerRefused(PeerUnavailable):
    """The peer answered with an error; `context` holds its `number`, `code` and `data`."""

    retryable = False


class InternalError(LeagueError):
    """Our own fault; details are in our log, never on the wire."""

    code, name, number, severity = "E052", "INTERNAL_ERROR", -32603, "critical"


class StorageError(LeagueError):
    """The journal could not be read or written."""

    code, name, number, http_status = "E053", "STORAGE_UNAVAILABLE", -32603, 503
    severity, retryable = "critical", True


class Claimed(StorageError):
    """Another manager writes to this journal."""


class Damaged(StorageError):
    """A stored row is not what was written."""


class Lost(Damaged):
    """Rows of `league_id` that were committed are gone: those after `seq`, up to `lost_until`."""


class StorageAway(StorageError):
    """The database does not answer, or takes nobody in, now; the same may succeed later."""


class StorageFull(StorageError):
    """No room now; the same batch may succeed later."""
