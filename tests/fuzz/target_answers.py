"""Bodies as answers to our own calls: an answer, or an error of the few kinds there are."""

from zlib import crc32

import msgspec

from agentleague.dialects import answers
from agentleague.errors import MissingField, NoConnection, PeerRefused, RateLimited
from agentleague.protocol import codec
from agentleague.protocol.field_docs import example
from agentleague.protocol.messages import MESSAGES
from fuzz.seeds import ANSWERS
from fuzz.sentences import check_sentence

SEEDS = ANSWERS
ASKED = [msgspec.convert(example(name), kind.cls) for name, kind in MESSAGES.items() if kind.answer]
STATUSES = (200, 200, 200, 200, 202, 204, 302, 400, 429, 500, 503)


def one(data: bytes) -> None:
    """Some of the calls that can be answered so, each with some status."""
    for number in range(4):
        chance = crc32(data, number)
        status = STATUSES[chance % len(STATUSES)]
        retry_after = (None, 0.0, 60.0)[chance % 3]
        asked = ASKED[chance // 7 % len(ASKED)]
        try:
            message = answers.read_answer(asked, status, data, retry_after)
        except (MissingField, NoConnection, PeerRefused, RateLimited) as error:
            check_sentence(error)
        else:
            assert message is None or codec.encode(message)
