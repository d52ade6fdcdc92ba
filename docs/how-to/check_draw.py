"""Check the draw of one match: python3 check_draw.py FILE.json [COMMITMENT [INDEX LOW HIGH]].

FILE (- for stdin) is a match of `league export`, or the GAME_OVER message as it was received;
COMMITMENT is the `draw_commitment` that was announced before the round. Exit 1: something does not
agree; 2: there is nothing to check.
"""

import hmac
import json
import sys
from hashlib import sha256
from pathlib import Path

USAGE = (
    "Name a match of `league export`, or a GAME_OVER message: "
    "python3 check_draw.py published/data/matches/LEAGUE/R1M1.json"
)


def stop(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)


given = sys.argv[1:] or stop(USAGE)
path, announced, index, low, high = given + ["-", "", "0", "1", "10"][len(given) :]
try:
    received = json.loads(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
    message = received.get("params", received)
    result = message.get("game_result") or message["result"]  # as GAME_OVER or an export has it
    draw = message["draw"]
    _ = draw["commitment"], draw["seed"], draw["moves"], result["choices"]
except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
    stop(f"{path} holds no draw that was opened ({type(error).__name__}: {error}). {USAGE}")
place = f"{message['league_id']}|{message['match_id']}"
digest = sha256(json.dumps(draw["moves"], separators=(",", ":")).encode()).hexdigest()
key = f"draw-v1|{place}|{index}|{digest}".encode()
drawn = int(hmac.new(bytes.fromhex(draw["seed"]), key, sha256).hexdigest(), 16)
number = int(low) + drawn % (int(high) - int(low) + 1)
undrawn = result["status"] == "TECHNICAL_LOSS" or message["game_type"] != "even_odd"
last = {**dict.fromkeys(result["choices"]), **{player: move for _, player, move in draw["moves"]}}
checks = {
    "commitment": draw["commitment"] == announced if announced else "was not given",
    "seed": sha256(f"commit-v1|{place}|{draw['seed']}".encode()).hexdigest() == draw["commitment"],
    "moves": last == result["choices"],
    "number": result["drawn_number"] in ([None, number] if undrawn else [number]),
}
words = {True: "agrees", False: "DOES NOT AGREE"}
for name, agrees in checks.items():
    print(f"{name}: {words.get(agrees, agrees)}")
sys.exit(False in checks.values())
