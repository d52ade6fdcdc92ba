"""How many random examples a property is tried on, by the profile of the run."""

from hypothesis import settings


def examples(number):
    """So many in `make test`; a tenth in `make quick`, five times as many in `make test-all`."""
    return max(5, number * settings().max_examples // 100)
