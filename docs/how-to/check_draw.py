"""Check the draw of a match: python3 check_draw.py FILE.json... [COMMITMENT [INDEX LOW HIGH]].

FILE (- for stdin) is a match of `league export`, or the GAME_OVER message as it was received;
COMMITMENT is the `draw_commitment` that was announced before the round, for one file. Exit 1:
something does not agree; 2: there is nothing to check, in one file at least.
"""

import hmac
import json
import re
import sys
from hashlib import sha256
from pathlib import Path

USAGE = (
    "Name a match of `league export`, or a GAME_OVER message: "
    "python3 check_draw.py published/data/matches/LEAGUE/R1M1.json"
)
UNDRAWN = "no number was drawn"
WORDS = {True: "agrees", False: "DOES NOT AGREE"}
WRONG = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def stop(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)


def checks_of(path):
    """What agrees, by name; a sentence where there is nothing to compare."""
    received = json.loads(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
    message = received.get("params", received)
    result = message.get("game_result") or message["result"]  # as GAME_OVER or an export has it
    may_lack = result["status"] == "TECHNICAL_LOSS" or message["game_type"] != "even_odd"
    undrawn = may_lack and result["drawn_number"] is None
    draw = message.get("draw")
    if undrawn and not draw:
        return {"number": UNDRAWN}
    place = f"{message['league_id']}|{message['match_id']}"
    digest = sha256(json.dumps(draw["moves"], separators=(",", ":")).encode()).hexdigest()
    key = f"draw-v1|{place}|{index}|{digest}".encode()
    drawn = int(hmac.new(bytes.fromhex(draw["seed"]), key, sha256).hexdigest(), 16)
    commitment = sha256(f"commit-v1|{place}|{draw['seed']}".encode()).hexdigest()
    moves = {player: move for _, player, move in draw["moves"]}
    return {
        "commitment": draw["commitment"] == announced if announced else "was not given",
        "seed": commitment == draw["commitment"],
        "moves": {**dict.fromkeys(result["choices"]), **moves} == result["choices"],
        "number": UNDRAWN if undrawn else result["drawn_number"] == low + drawn % (high - low + 1),
    }


given = sys.argv[1:]
is_commitment = [re.fullmatch("[0-9a-f]{64}|", word) is not None for word in given]
cut = is_commitment.index(True) if True in is_commitment else len(given)
paths, more = given[:cut], given[cut:]
if not paths or len(more) > 4:
    stop(USAGE)
if len(paths) > 1 and more:
    stop("A commitment is that of one match; name one file with it.")
announced, *numbers = more + ["", "0", "1", "10"][len(more) :]
try:
    index, low, high = map(int, numbers)
except ValueError:
    stop(f"INDEX, LOW and HIGH are numbers, not {' '.join(numbers)}. {USAGE}")
if low > high:
    stop(f"LOW is at most HIGH, and {low} is more than {high}.")
codes = []
for path in paths:
    try:
        checks = checks_of(path)
    except WRONG as error:
        codes.append(2)
        what = f"{type(error).__name__}: {error}"
        print(f"{path} holds no draw that was opened ({what}). {USAGE}", file=sys.stderr)
        continue
    for name, agrees in checks.items():
        named = f"{path}: {name}" if len(paths) > 1 else name
        print(f"{named}: {WORDS.get(agrees, agrees)}")
    codes.append(1 if False in checks.values() else 2 if UNDRAWN in checks.values() else 0)
sys.exit(1 if 1 in codes else max(codes))
