"""A message with fewer fields, those of document 001 only, or with more than ours.

Some agents refuse a field or a null that document 001 does not show (only a winner may be null);
others want the `context` of a call for a move, or the content of an answer, under another name.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

ENVELOPE = "protocol message_type sender timestamp conversation_id auth_token"
_RECORD = "player_id display_name wins draws losses points"


def _under(prefix: str, names: str) -> str:
    return " ".join(f"{prefix}.{name}" for name in names.split())


# Message type -> its fields beside the envelope, by path: `[]` is every row of a list, `*` any key.
FIELDS = {
    "LEAGUE_REGISTER_REQUEST": _under(
        "player_meta", "display_name version game_types contact_endpoint"
    ),
    "REFEREE_REGISTER_REQUEST": _under(
        "referee_meta", "display_name version game_types contact_endpoint max_concurrent_matches"
    ),
    "MATCH_RESULT_REPORT": "league_id round_id match_id game_type "
    + _under("result", "winner score.* details.drawn_number details.choices.* details.status"),
    "ROUND_ANNOUNCEMENT": "league_id round_id "
    + _under("matches[]", "match_id game_type player_A_id player_B_id referee_endpoint"),
    "LEAGUE_STANDINGS_UPDATE": "league_id round_id "
    + _under("standings[]", f"rank played {_RECORD}"),
    "ROUND_COMPLETED": "league_id round_id matches_played next_round_id",
    "LEAGUE_COMPLETED": "league_id total_rounds total_matches "
    + _under("champion", "player_id display_name points ")
    + " "
    + _under("final_standings[]", f"rank {_RECORD}"),
    "GAME_INVITATION": "league_id round_id match_id game_type role_in_match opponent_id",
    "CHOOSE_PARITY_CALL": "match_id player_id game_type deadline "
    + _under("context", "opponent_id round_id")
    + " "
    + _under("context.your_standings", "wins losses draws points"),
    "GAME_OVER": "match_id game_type "
    + _under("game_result", "status winner_player_id drawn_number number_parity choices.* reason"),
    "GAME_ERROR": "match_id error_code error_description affected_player action_required"
    " retry_count max_retries consequence",
}

EXTENDED = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")  # the questions
CONTEXT = (
    *("game_context", "match_context", "parity_context", "move_context"),
    *("game_state", "state", "info"),
)
NULL = "winner"  # the one field that the documents show as null

# The answers to questions, which a player may push later -> the field of their content.
PUSHED = {
    "GAME_JOIN_ACK": "accept",
    "CHOOSE_PARITY_RESPONSE": "parity_choice",
    "GAME_MOVE_RESPONSE": "move",
}

_Tree = dict[str, Any]


def trimmed(message_type: str, body: bytes) -> bytes:
    """The message with the documented fields alone; one that is ours loses only its nulls."""
    fields = msgspec.json.decode(body)
    return msgspec.json.encode(_kept(fields, _TREES.get(message_type, {})))


def own_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in a message beside its envelope."""
    return {name: value for name, value in fields.items() if name not in ENVELOPE.split()}


def extended(message_type: str, body: bytes) -> bytes:
    """The message with its content under other names too, a question also under its own."""
    if message_type not in EXTENDED and message_type not in PUSHED:
        return body
    fields = msgspec.json.decode(body)
    if message_type in EXTENDED:
        others = dict.fromkeys(CONTEXT, fields["context"]) if "context" in fields else {}
        return msgspec.json.encode(fields | others | {message_type.lower(): own_fields(fields)})
    said = fields[PUSHED[message_type]]
    more: _Tree = {"choice": said}
    if message_type == "GAME_JOIN_ACK":
        more = {"accepted": said, "status": "ACK" if said else "DECLINED"}
    return msgspec.json.encode(more | fields)


def _kept(value: Any, tree: _Tree) -> Any:
    if isinstance(value, list):
        return [_kept(each, tree) for each in value]
    if not isinstance(value, dict):
        return value
    if not tree:  # Everything in it is documented.
        tree = {"*": {}}
    return {
        name: _kept(held, tree[name if name in tree else "*"])
        for name, held in value.items()
        if (held is not None or name == NULL) and (name in tree or "*" in tree)
    }


def _tree(paths: str) -> _Tree:
    root: _Tree = {}
    for path in paths.replace("[]", "").split():
        branch = root
        for name in path.split("."):
            branch = branch.setdefault(name, {})
    return root


_TREES = {name: _tree(f"{ENVELOPE} {paths}") for name, paths in FIELDS.items()}
