"""-v in words."""

import logging

from agentleague.cli.output import log_to_stderr
from agentleague.runtime.log import Entry


class Quiet:
    """An agent that keeps what it is asked to show."""

    def __init__(self):
        self.watched = []

    def watch(self, sink, *, every_message):
        self.sink = sink
        self.watched.append(every_message)


def test_every_message_is_said_only_if_it_was_asked_for_twice():
    for verbose, watched in ((0, []), (1, [False]), (2, [True]), (9, [True])):
        agent = Quiet()

        log_to_stderr(agent, verbose)

        assert agent.watched == watched


def test_what_the_news_say_already_is_not_said_twice(capsys):
    agent = Quiet()
    log_to_stderr(agent, 1)

    for event in ("started", "player_registered", "ended"):
        agent.sink(Entry(level=logging.INFO, event=event))

    assert capsys.readouterr().err.splitlines() == ["Started.", "Done."]
