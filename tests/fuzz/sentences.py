"""What an error says is a sentence of bounded length, whatever it is about."""


def check_sentence(error: Exception, most: int = 500) -> None:
    """Raise where it says nothing, or too much."""
    assert 0 < len(str(error)) <= most, len(str(error))
