"""One test over a table: every row is tried, and all rows that fail are named together."""

import functools
import inspect

import pytest


def each_row(names, rows):
    """Call the test once with every row; written like `pytest.mark.parametrize`.

    For tables of many short rows, where a case of its own for each row would only cost time.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(rows)

    def decorate(test):
        @functools.wraps(test)
        def over_all_rows(**fixtures):
            failures = []
            for number, row in enumerate(rows, start=1):
                values = (row,) if len(names) == 1 else row
                try:
                    test(**dict(zip(names, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as caught:
                    is_plain = isinstance(caught, Exception)  # `pytest.raises` raises another kind.
                    error = caught if is_plain else AssertionError(str(caught))
                    error.add_note(f"row {number}: {_shown(row)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(rows)} rows fail", failures)

        signature = inspect.signature(test)
        others = [at for name, at in signature.parameters.items() if name not in names]
        over_all_rows.__signature__ = signature.replace(parameters=others)
        del over_all_rows.__wrapped__  # It would show pytest the names of the columns.
        return over_all_rows

    return decorate


def _shown(row):
    try:
        return repr(row)[:300]
    except ValueError:  # An integer of too many digits.
        return "a row that cannot be shown"
