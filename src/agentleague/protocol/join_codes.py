"""Join codes: when two are the same, how hard one is to guess, and how to spell a good one.

A code is read out, written on a board and typed by many, so case, spaces and dashes do not count.
"""

import hmac
import re

BITS_MIN = 40.0
BITS = 48  # of a code that we make
CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"

PUBLISHED = ("tipuf-sajil-gikop", "lusab-bagod-gutuh")  # the examples of the documentation

_RUN = re.compile(r"[^\W\d_]+|\d+|[^\w\s-]+")  # of letters, of digits, of other characters
_RUN_BITS = 14.0  # A run is one of 16,000 at most: a word, a year, a PIN.
_LETTER_BITS, _OTHER_BITS = 4.7, 3.3  # of each different character in a run


def is_same(shown: str, wanted: str) -> bool:
    """Whether a code is right, in a time that does not depend on how nearly it is."""
    return hmac.compare_digest(_plain(shown), _plain(wanted))


def is_guessable(code: str) -> bool:
    """Whether it has less than three words or groups that differ; only chance makes a good one."""
    runs = set(_RUN.findall(code.casefold()))
    return sum(map(_bits, runs)) < BITS_MIN


def is_published(code: str) -> bool:
    """Whether it stands in the documentation, where everybody may read it."""
    return any(is_same(code, published) for published in PUBLISHED)


def spelled(number: int) -> str:
    """A number of 48 bits as three proquints (Wilkerson, 2009), such as lusab-babad-gutuh."""
    return "-".join(_proquint(number >> shift & 0xFFFF) for shift in (32, 16, 0))


def _proquint(word: int) -> str:
    first, second, third = (CONSONANTS[word >> shift & 15] for shift in (12, 6, 0))
    return f"{first}{VOWELS[word >> 10 & 3]}{second}{VOWELS[word >> 4 & 3]}{third}"


def _bits(run: str) -> float:
    each = _LETTER_BITS if run[0].isalpha() else _OTHER_BITS
    return min(_RUN_BITS, each * len(set(run)))


def _plain(code: str) -> bytes:
    text = "".join(code.casefold().split()).replace("-", "") or code  # A code may be all dashes.
    return text.encode(errors="replace")
