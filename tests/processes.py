"""Which tests start processes: they are marked `process`, and `make quick` leaves them out.

A test is marked if its code, or the code of a fixture or helper in tests/ that it uses, names a
module or function that starts processes. What this does not see (the package itself starts
workers) is marked by hand: a test without the mark that starts a process fails.
"""

import _posixsubprocess
import functools
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

TESTS = Path(__file__).parent
STARTERS = {"subprocess", "multiprocessing", "pty", "fork"}  # as code names them
_state = {"allowed": True}


def starts_processes(item):
    """Whether the code of a test can start a process."""
    fixtures = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(_reaches(each) for each in (item.obj, *fixtures, *filter(_is_hashable, given)))


def guard():
    """Make a test fail that starts a process without the mark."""
    subprocess._fork_exec = _guarded(subprocess._fork_exec)
    _posixsubprocess.fork_exec = _guarded(_posixsubprocess.fork_exec)
    os.fork = _guarded(os.fork)


def allow(is_allowed):
    """Whether the running test may start processes."""
    _state["allowed"] = is_allowed


def _guarded(start):
    @functools.wraps(start)
    def guarded(*arguments):
        if not _state["allowed"]:
            raise AssertionError("this test starts a process: mark it with pytest.mark.process")
        return start(*arguments)

    return guarded


def _is_hashable(value):
    return callable(value) and value.__hash__ is not None


@functools.cache
def _reaches(start):
    seen, waiting = set(), [start]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, str) and value in STARTERS:
            return True
        waiting.extend(_used_by(value))
    return False


def _used_by(value):
    """What a function or class of tests/ names."""
    if inspect.isclass(value):
        if _is_ours(value.__module__):
            yield from vars(value).values()
            yield from value.__bases__
    elif isinstance(value, (classmethod, staticmethod)):
        yield value.__func__
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(function := inspect.unwrap(value) if callable(value) else value, FunctionType):
        if Path(function.__code__.co_filename).is_relative_to(TESTS):
            yield from _named(function)
    elif _is_ours(type(value).__module__):
        yield type(value)


def _named(function):
    names = set(_names(function.__code__))
    yield from names & STARTERS
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType) and _is_ours(value.__name__):
            yield from (vars(value)[each] for each in names & vars(value).keys())
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_ours(module):
    return Path(getattr(sys.modules.get(module), "__file__", None) or "/").is_relative_to(TESTS)
