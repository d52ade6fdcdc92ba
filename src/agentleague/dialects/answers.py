"""What a peer answered, judged by its content, wherever that is; returned or pushed later.

The usual answer is decoded once; only one without content at the top is searched further.

A foreign referee that is told to run a match may answer that it has begun, or with the result, or
with an "ok" that it gives to everything: comparing it with the answer to nonsense shows its worth.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentleague import errors
from agentleague.dialects.fields import PUSHED
from agentleague.dialects.results import find_result, is_over
from agentleague.dialects.search import squeezed
from agentleague.protocol import field_names, json_text, jsonrpc, messages
from agentleague.protocol.codec import DECODERS, ENVELOPE, complaint, encode, without_nulls

_UNREADABLE = (errors.UnreadableJson, *jsonrpc.UNREADABLE)
_NOTHING = (b"", b"null")
# Words of an answer to a registration that say yes even without an id, and those that do not.
_SAYS_YES = re.compile(r"\b(accepted|registered|confirmed|welcome)\b", re.IGNORECASE)
_SAYS_NO = re.compile(
    r"\b(not|no|un|can't|cannot|fail|error|reject|refus|denied|must|missing|requir)", re.IGNORECASE
)
_NOT_REGISTERED = ("REJECTED", "REFUSED", "DENIED", "DECLINED", "ERROR", "FAILED", "INVALID")
_SAYING_YES = ("status", "response", "decision", "answer", "joined", "join", "ready")
_JOINED = {"ACK", "ACCEPT", "ACCEPTED", "JOIN", "JOINED", "READY"}  # what they say in a join
_DECLINED = {"DECLINED", "REJECTED", "REFUSED"}
_YES_WORDS, _NO = {*_JOINED, "TRUE", "YES"}, {*_DECLINED, "DECLINE", "REJECT", "FALSE", "NO"}
_MERE_ACKS = {"OK", "ACK", "ACKNOWLEDGED", "RECEIVED", "PENDING", "NONE", "NULL", "ERROR"}
_WORD = re.compile(r"\S{1,64}")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_PARITIES = {b"even", b"odd"}
_MOVES = ("CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE")
_UNSAID = (UNSET, None)
_QUERY_FIELDS = frozenset({"message_type", *messages.LeagueQueryResponse.__struct_fields__})
_YES = ("success", "accepted", "registered", "ok")  # flags of an answer to a registration
_UNKNOWN = re.compile(
    r"unknown|unsupported|unhandled|unrecogni[sz]ed|ignored|invalid|not.?(found|implemented|known)",
    re.I,
)
_AGAINST = re.compile(rf"{_UNKNOWN.pattern}|error|fail|reject|refuse|denied|^\s*false\b", re.I)


class _Content(Struct, gc=False):
    """The fields of an answer that can be its content, and its ids."""

    message_type: Any = UNSET
    match_id: Any = UNSET
    player_id: Any = UNSET
    accept: Any = UNSET
    accepted: Any = UNSET
    status: Any = UNSET
    parity_choice: Any = UNSET
    choice: Any = UNSET
    move: Any = UNSET
    arrival_timestamp: Any = ""
    protocol: Any = messages.PROTOCOL
    sender: Any = ""
    timestamp: Any = ""
    conversation_id: Any = ""
    auth_token: Any = UNSET


_ENVELOPE = messages.Message.__struct_fields__
_content = msgspec.json.Decoder(_Content)
_object = msgspec.json.Decoder(dict[str, Any])


def read_answer(
    request: messages.Message, status: int, body: bytes, retry_after: float | None = None
) -> messages.Message | None:
    """What a peer answered to our request; None if it only acknowledged.

    Raises PeerUnavailable, or MissingField where it answered something else than it was asked.
    """
    own = _OWN_ANSWERS.get(type(request)) if status == 200 else None
    if own and body.startswith(own[0]) and (found := _read_own(body, own[1])):
        return found
    if status == 429:
        raise errors.RateLimited("HTTP 429: too many requests", retry_after=retry_after)
    expected = _EXPECTED[type(request)]
    if not expected:
        return _read_acknowledgement(request, status, body)
    if isinstance(request, messages.MatchResultReport) and _is_taken(request, status, body):
        return messages.MatchResultAck(match_id=request.match_id)
    return _read_expected(expected, status, body, retry_after)


def _read_expected(
    expected: str, status: int, body: bytes, retry_after: float | None
) -> messages.Message:
    try:
        text = _text_of(body)
        is_of_tool = expected in PUSHED and b'"content"' in body
        found = _read_value(expected, text) if is_of_tool else None
        found = found or _read_content(expected, text)
        is_ack = isinstance(found, messages.MatchResultAck) and not found.match_id
        is_other = isinstance(found, messages.LeagueQueryResponse) and not found.query_type
        if status >= 300 and (is_ack or is_other):
            raise _nothing(expected)
        return found
    except (errors.MissingField, *_UNREADABLE) as error:
        if status == 503 and retry_after is not None:
            raise errors.RateLimited("HTTP 503: busy", retry_after=retry_after) from None
        if status < 300 and isinstance(error, errors.MissingField):
            raise
        raise errors.NoConnection(f"HTTP {status}, and {error}"[:500], status=status) from None


def _read_own(body: bytes, decode: Callable[[bytes], Any]) -> messages.Message | None:
    """An answer as an agent of ours writes it, in one pass; None where it holds anything else."""
    try:
        answer = decode(body)
    except jsonrpc.UNREADABLE:
        return None
    found: messages.Message = answer.result
    if body != b'{"jsonrpc":"2.0","result":%b,"id":%d}' % (encode(found), answer.id):
        return None
    if type(found) is messages.GameJoinAck and type(found.accept) is not bool:
        return None
    return None if type(found) is messages.MatchResultAck and not found.match_id else found


def read_pushed(message_type: str, text: bytes | Raw) -> dict[str, Any]:
    """The content and the ids of a pushed answer. Raises MissingField if it has no content."""
    field = PUSHED[message_type]
    try:
        found = _read_content(message_type, jsonrpc.read_tool_result(text), is_named=True)
    except (errors.MissingField, errors.PeerUnavailable, *_UNREADABLE):
        raise _nothing(message_type) from None
    ids = {name: value for name in ("match_id", "player_id") if (value := getattr(found, name))}
    return {field: getattr(found, field), **ids}


def _text_of(body: bytes) -> bytes | Raw:
    """The text of the message in an answer; an empty body is an answer without content."""
    return jsonrpc.read_response(b"{}" if body.strip() in _NOTHING else body)


def _read_acknowledgement(
    request: messages.Message, status: int, body: bytes
) -> messages.Message | None:
    """Any answer acknowledges; a refusal is raised."""
    if b"rror" in body or b"RROR" in body:
        with suppress(*_UNREADABLE):
            _raise_refusal(_text_of(body))
    if status >= 400:
        problem = f"the peer answered with HTTP {status}"
        raise errors.PeerRefused(problem, number=None, code=None, data={}, status=status)
    return _read_correction(request, body) if isinstance(request, messages.GameError) else None


def _read_correction(request: messages.GameError, body: bytes) -> messages.Message | None:
    """The move or the join, if the answer to GAME_ERROR brings it."""
    readers = _CORRECTIONS.get(request.action_required, _CORRECTIONS[""])
    with suppress(*_UNREADABLE):
        text = _text_of(body)
        for place in (text, *jsonrpc.look_everywhere(text)):
            with suppress(*_UNREADABLE):
                content = _content.decode(place)
                content.status = UNSET  # Here ACK acknowledges the error only.
                for read in readers:
                    with suppress(errors.MissingField):
                        return read(content)
        return _read_unsaid_join(text, is_ack_join=False)
    return None


def _read_content(expected: str, text: bytes | Raw, *, is_named: bool = False) -> messages.Message:
    """The content, wherever it is; `is_named`: the request around it says its type."""
    try:
        return _read_here(expected, text)
    except errors.MissingField as error:
        _raise_refusal(text)
        found = _read_deeper(expected, text)
        if found is None and expected == "GAME_JOIN_ACK":
            found = _read_unsaid_join(text, is_named=is_named)
        elif found is None and expected == "CHOOSE_PARITY_RESPONSE":
            found = _read_word(text)
        if found is None:
            raise _without_choice(expected, text) or error from None
        return _with_ids(found, text) if expected in PUSHED else found


def _read_value(expected: str, text: bytes | Raw) -> messages.Message | None:
    """What a tool returns that is content itself: a word, or any value under `result`."""
    try:
        value = msgspec.json.decode(text)
    except jsonrpc.UNREADABLE:
        value = bytes(text).decode(errors="replace").strip()
    if isinstance(value, dict):
        value = value["result"] if value.keys() == {"result"} else None
    word = str(value).upper()
    if expected == "GAME_JOIN_ACK":
        is_no = word in _NO
        return messages.GameJoinAck(accept=not is_no) if is_no or word in _YES_WORDS else None
    if expected == "CHOOSE_PARITY_RESPONSE":
        return messages.ChooseParityResponse(value) if word in ("EVEN", "ODD") else None
    is_text = isinstance(value, str) and not _WORD.fullmatch(value)
    is_none = value is None or isinstance(value, dict | bool) or is_text or word in _MERE_ACKS
    return None if is_none else messages.GameMoveResponse(value)


def _without_choice(expected: str, text: bytes | Raw) -> errors.WrongType | None:
    """What is wrong with a choice answer by its type; one with a status only acknowledges."""
    for place in jsonrpc.look_everywhere(text) if expected in _MOVES else ():
        with suppress(*_UNREADABLE):
            content = _content.decode(place)
            if _text(content.message_type).upper() in _MOVES and content.status in _UNSAID:
                field = PUSHED[expected]
                problem = f"{expected}: missing field {field!r}"  # Its type is wrong: it has none.
                return errors.WrongType(problem, field=field, kind="missing")
    return None


def _with_ids(found: Any, text: bytes | Raw) -> messages.Message:
    """An answer from some levels down, with the ids that are only beside it."""
    with suppress(*_UNREADABLE):
        outer = _content.decode(text)
        match_id = found.match_id or _text(outer.match_id)
        player_id = found.player_id or _text(outer.player_id)
        found = msgspec.structs.replace(found, match_id=match_id, player_id=player_id)
    return found  # type: ignore[no-any-return]


def _read_deeper(expected: str, text: bytes | Raw) -> messages.Message | None:
    """The content one level down, of a join or a move on any level; None if there is none."""
    look = jsonrpc.look_everywhere if expected in PUSHED else jsonrpc.look_deeper
    for place in look(text):
        with suppress(errors.MissingField, *_UNREADABLE):
            return _read_here(expected, place)
        with suppress(*_UNREADABLE):
            _raise_refusal(place)
    return None


def _read_here(expected: str, text: bytes | Raw) -> messages.Message:
    read = _BY_CONTENT.get(expected)
    try:
        if read:
            return read(_content.decode(text))
        return _BY_TEXT.get(expected, _read_any)(expected, text)
    except msgspec.ValidationError as error:
        raise complaint(expected, error) from None


def _read_join(content: _Content) -> messages.GameJoinAck:
    accept = content.accepted if content.accept in _UNSAID else content.accept
    if accept in _UNSAID:
        raise _nothing("GAME_JOIN_ACK")
    accept = _BOOLEANS.get(_text(accept).lower(), accept)
    made = (_text(content.match_id), _text(content.player_id), content.arrival_timestamp, accept)
    return messages.GameJoinAck(*made, **_envelope(content))


def _read_unsaid_join(
    text: bytes | Raw, *, is_named: bool = False, is_ack_join: bool = True
) -> messages.GameJoinAck | None:
    """A join without `accept`, by its type or a word for yes, unless another word declines."""
    ids, is_declined = None, False
    for place in jsonrpc.look_everywhere(text):
        with suppress(*_UNREADABLE):
            content, fields = _content.decode(place), _object.decode(place)
            words = {_text(fields.get(name)).upper() for name in _SAYING_YES}
            is_typed = is_named or _text(content.message_type).upper() == "GAME_JOIN_ACK"
            is_yes = words & _JOINED or any(fields.get(name) is True for name in _SAYING_YES)
            if is_typed or (is_ack_join and is_yes):
                ids = ids or (_text(content.match_id), _text(content.player_id))
            is_declined |= bool(words & _DECLINED)
    return messages.GameJoinAck(*ids, accept=not is_declined) if ids else None


def _read_parity(content: _Content) -> messages.ChooseParityResponse:
    choice = _first_sent(content.parity_choice, content.choice, content.move)
    # An object may hold it; in the documented field it is judged as it is.
    if choice is UNSET or (isinstance(choice, dict) and content.parity_choice is UNSET):
        raise _nothing("CHOOSE_PARITY_RESPONSE")
    ids = (_text(content.match_id), _text(content.player_id))
    return messages.ChooseParityResponse(choice, *ids, **_envelope(content))


def _read_word(text: bytes | Raw) -> messages.ChooseParityResponse | None:
    """The choice under any name, or alone, if there is one word only that can be it."""
    words = _PARITIES.intersection(jsonrpc.look_everywhere(text))
    return messages.ChooseParityResponse(words.pop().decode()) if len(words) == 1 else None


def _read_move(content: _Content) -> messages.GameMoveResponse:
    move = _first_sent(content.move, content.choice, content.parity_choice)
    if move is UNSET:
        raise _nothing("GAME_MOVE_RESPONSE")
    ids = (_text(content.match_id), _text(content.player_id))
    return messages.GameMoveResponse(move, *ids, **_envelope(content))


def _envelope(content: _Content) -> dict[str, Any]:
    return {name: getattr(content, name) for name in _ENVELOPE}


def _first_sent(*values: Any) -> Any:
    return next((value for value in values if value is not UNSET), UNSET)


def _read_any(expected: str, text: bytes | Raw) -> messages.Message:
    """Any other answer; if it does not fit, it is read without its envelope and its nulls."""
    decode = DECODERS[expected].decode
    try:
        return decode(text)
    except msgspec.ValidationError:
        fields = without_nulls(expected, _object.decode(text))
    for name in ("protocol", *ENVELOPE):
        fields.pop(name, None)
    return decode(encode(fields))


def _read_registration(expected: str, text: bytes | Raw) -> messages.Message:
    own = "player_id" if expected == "LEAGUE_REGISTER_RESPONSE" else "referee_id"
    try:
        found = _read_any(expected, text)
    except msgspec.ValidationError:
        if not _is_registered(text, expected, own):
            raise
        found = DECODERS[expected].decode(b'{"status":"ACCEPTED"}')
    assert isinstance(found, messages.LeagueRegisterResponse | messages.RefereeRegisterResponse)
    if found.status == "REGISTERED":
        found = msgspec.structs.replace(found, status="ACCEPTED")
    if found.status != "ACCEPTED" or (getattr(found, own) and found.auth_token):
        return found
    plain = field_names.without_camel_case(bytes(text))
    fields = _object.decode(plain) if plain[:1] == b"{" else {}
    given = {
        own: _id_in(fields, own),
        "auth_token": fields.get("auth_token") or fields.get("token"),
        "league_id": fields.get("league_id"),
    }
    kept = {name: value for name, value in given.items() if isinstance(value, str)}
    return DECODERS[expected].decode(encode({**_object.decode(encode(found)), **kept}))


def _is_registered(text: bytes | Raw, expected: str, own: str) -> bool:
    """Whether an answer in other words is a yes: one that says so, or gives an id."""
    whole = msgspec.json.decode(text)
    fields = whole if isinstance(whole, dict) else {"status": whole}
    status, named = str(fields.get("status", "")).upper(), fields.get("message_type", expected)
    is_no = fields.get("error") or any(fields.get(each) is False for each in _YES)
    is_other = named != expected and str(named) in messages.MESSAGES
    if is_no or is_other or status in _NOT_REGISTERED or _UNKNOWN.search(status):
        return False
    texts = (each for each in fields.values() if isinstance(each, str))
    words = " ".join(each for each in texts if "{" not in each)  # Others hold more than words.
    is_said = _SAYS_YES.search(words) and not _SAYS_NO.search(words)
    is_flag = any(fields.get(each) is True for each in ("registered", "accepted"))
    return bool(is_said or is_flag) or _id_in(fields, own) is not None


def _id_in(fields: dict[str, Any], own: str) -> str | None:
    """The id that an agent was given, under any of its names, here or one level down."""
    wanted = (own.replace("_", ""), "agentid", "yourid", "id")
    for place in (fields, *(each for each in fields.values() if isinstance(each, dict))):
        given = {squeezed(name): value for name, value in place.items()}
        for name in wanted:
            value = given.get(name)
            if type(value) is int and name != "id":  # There it is the number of the request.
                return str(value)
            if value and isinstance(value, str):
                return value
    return None


def _read_report_ack(expected: str, text: bytes | Raw) -> messages.Message:
    """The answer to a report: foreign managers say little more than that they have it."""
    try:
        ack = _read_any(expected, text)
    except msgspec.ValidationError:
        _object.decode(text)
        ack = messages.MatchResultAck()
    assert isinstance(ack, messages.MatchResultAck)
    if not ack.match_id:
        _raise_refusal(text)
        if _UNKNOWN.search(ack.status):
            raise _nothing(expected)
    return ack


def _is_taken(report: messages.MatchResultReport, status: int, body: bytes) -> bool:
    """Whether a foreign manager, which knows no epochs, says so with a status or a mere word."""
    if report.epoch is not UNSET or status == 409:  # That is: it has the report already.
        return report.epoch is UNSET
    try:
        text = bytes(_text_of(body))
    except _UNREADABLE:
        text = body
    is_word = text.lstrip()[:1] != b"{" and not _AGAINST.search(text.decode(errors="replace"))
    return status < 300 and is_word


def _read_query_response(expected: str, text: bytes | Raw) -> messages.Message:
    """The answer to a query; in another shape than ours, all of it is `data`."""
    text = field_names.documented(bytes(text))[0]
    try:
        answer = _read_any(expected, text)
    except msgspec.ValidationError:
        whole = msgspec.json.decode(text)
        fields = {"list": whole} if isinstance(whole, list) else _object.decode(text)
        if not fields.keys() - {"message_type", "protocol", *ENVELOPE}:
            raise
        return messages.LeagueQueryResponse(data=fields)
    assert isinstance(answer, messages.LeagueQueryResponse)
    fields = _object.decode(text) if answer.data is UNSET else {}
    is_ours = not fields.keys() - _QUERY_FIELDS
    return answer if is_ours else msgspec.structs.replace(answer, data=fields)


def _raise_refusal(text: bytes | Raw) -> None:
    """Raises PeerRefused or RateLimited if an answer says that something is wrong."""
    try:
        fields = _object.decode(text)
    except msgspec.ValidationError:
        return
    error = fields.get("error")
    if error and isinstance(error, dict):
        raise jsonrpc.refusal(error) from None
    is_error = (
        error
        or fields.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or str(fields.get("status")).lower() == "error"
    )
    if is_error:
        words = (fields.get(name) for name in ("error_description", "message", "error", "reason"))
        said = next((text for text in words if isinstance(text, str) and text), "")
        raise jsonrpc.refusal({"message": said, "data": fields}) from None


def _nothing(name: str) -> errors.MissingField:
    field = PUSHED.get(name, "match_id")
    return errors.MissingField(f"{name}: missing field '{field}'", field=field, kind="missing")


def _text(value: Any | UnsetType) -> str:
    return value if isinstance(value, str) else ""


_Reader = Callable[[_Content], messages.Message]
_BY_CONTENT: dict[str, _Reader] = {
    "GAME_JOIN_ACK": _read_join,
    "CHOOSE_PARITY_RESPONSE": _read_parity,
    "GAME_MOVE_RESPONSE": _read_move,
}
_BY_TEXT: dict[str, Callable[[str, bytes | Raw], messages.Message]] = {
    "LEAGUE_REGISTER_RESPONSE": _read_registration,
    "REFEREE_REGISTER_RESPONSE": _read_registration,
    "MATCH_RESULT_ACK": _read_report_ack,
    "LEAGUE_QUERY_RESPONSE": _read_query_response,
}
# What GAME_ERROR asked for -> the readers of its answer, in this order.
_CORRECTIONS: dict[str, tuple[_Reader, ...]] = {
    "GAME_JOIN_ACK": (_read_join, _read_parity),
    "GAME_MOVE_RESPONSE": (_read_move, _read_join),
    "": (_read_parity, _read_join),
}
ACKNOWLEDGEMENTS = tuple(
    name for name, kind in messages.MESSAGES.items() if issubclass(kind.cls, messages.Ack)
)
# The type of the answer to each message; none where any answer acknowledges, or where it is an
# answer itself that was pushed.
_EXPECTED = {
    kind.cls: "" if kind.answer in ACKNOWLEDGEMENTS else kind.answer or ""
    for kind in messages.MESSAGES.values()
}


def _own_answer(name: str) -> tuple[bytes, Callable[[bytes], Any]]:
    """How the answer of that type by an agent of ours begins, and its decoder."""
    fields = [("result", messages.MESSAGES[name].cls), ("id", int)]
    decoder = msgspec.json.Decoder(msgspec.defstruct("Answer", fields, gc=False))
    opening = b'{"jsonrpc":"2.0","result":{"message_type":"%b"' % name.encode()
    return opening, decoder.decode


_OWN_ANSWERS = {  # Those that are read by their content alone, in the words of the documents.
    cls: _own_answer(name)
    for cls, name in _EXPECTED.items()
    if name in _BY_CONTENT or name == "MATCH_RESULT_ACK" or (name and name not in _BY_TEXT)
}

# Answers of a foreign referee that was told to run a match.
CLEAR = messages.RoundAnnouncementAck().status  # the status of an answer that names the match
SAID_MAX = 64

_WRONG = ("error", "failed", "rejected", "fail")
_VARYING = ("timestamp", "conversation_id", "id", "match_id", "time", "request_id")
_report = msgspec.json.Decoder(messages.MatchResultReport)
_encode_sorted = msgspec.json.Encoder(order="sorted").encode

Began = messages.MatchResultReport | messages.RoundAnnouncementAck


def read_started(
    request: messages.RoundAnnouncement, status: int, body: bytes, retry_after: float | None = None
) -> Began:
    """The result of the match, or an acknowledgement; if not CLEAR, its status is what was said."""
    if status == 429:
        raise errors.RateLimited("HTTP 429: too many requests", retry_after=retry_after)
    try:
        text = bytes(jsonrpc.read_response(body if body.strip() else b"{}"))
    except errors.UnreadableJson:
        text = body
    if status >= 400:
        raise _refused_by_status(status, text)
    match_id = request.matches[0].match_id if request.matches else ""
    whole = () if b'"jsonrpc"' in body else (body,)  # Its `result` is no answer's.
    for place in (*whole, text, *jsonrpc.look_deeper(text)):
        with suppress(errors.UnreadableJson, *jsonrpc.UNREADABLE):
            json_text.check_depth(place)  # What it says may go into the journal.
            found = _read_start(_object.decode(field_names.documented(place)[0]), match_id)
            if found:
                return found
    return messages.RoundAnnouncementAck(_said(text))


def _refused_by_status(status: int, text: bytes) -> errors.LeagueError:
    said = ""
    with suppress(*jsonrpc.UNREADABLE):
        fields = _object.decode(text)
        said = str(fields.get("detail", fields.get("message", fields.get("error", ""))))
    problem = f"HTTP {status}: {said}"[:200] if said else f"HTTP {status}"
    if status in (502, 503, 504):
        return errors.NoConnection(problem, status=status)
    return errors.PeerRefused(problem, number=None, code=None, data={}, status=status)


def _read_start(fields: Mapping[str, Any], match_id: str) -> Began | None:
    """What one object says; None if that is not clear."""
    _check_no_error(fields)
    result = find_result(fields) if is_over(fields) else None
    if result is not None:
        return _as_report(match_id, result)
    is_named = bool(match_id) and fields.get("match_id") == match_id
    return messages.RoundAnnouncementAck() if is_named else None


def _check_no_error(fields: Mapping[str, Any]) -> None:
    error, status = fields.get("error"), str(fields.get("status", "")).lower()
    if isinstance(error, dict) and error:
        raise jsonrpc.refusal(error)
    is_declined = fields.get("success") is False or fields.get("accepted") is False
    is_error = error or status in _WRONG or fields.get("message_type") == "LEAGUE_ERROR"
    said = " ".join(str(fields[name]) for name in ("error", "status", "message") if name in fields)
    if _UNKNOWN.search(status) or (is_error and _UNKNOWN.search(said)):
        raise errors.PeerRefused(said[:200], number=errors.UnknownMethod.number, code=None, data={})
    if is_error or is_declined:
        raise jsonrpc.refusal({"message": said or "it does not want to", "data": dict(fields)})


def _as_report(match_id: str, result: Mapping[str, Any]) -> messages.MatchResultReport | None:
    """A result as a report; None if its winner is no id."""
    report = {"message_type": "MATCH_RESULT_REPORT", "match_id": match_id, "result": result}
    with suppress(msgspec.ValidationError):
        return _report.decode(encode(report))
    return None


def _said(text: bytes) -> str:
    """What an answer says, without the fields that differ in every answer."""
    try:
        fields = _object.decode(text)
    except jsonrpc.UNREADABLE:
        return "text " + text[:SAID_MAX].decode(errors="replace")
    fields = {name: value for name, value in fields.items() if name not in _VARYING}
    return _encode_sorted(fields)[:SAID_MAX].decode(errors="replace")
