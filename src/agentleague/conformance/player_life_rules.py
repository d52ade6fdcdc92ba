"""The rules about the beginning and the end of a player: its registration, and its manager."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentleague.conformance.bench import Fields
from agentleague.conformance.launch import Launch
from agentleague.conformance.listener import Listener, Received, Reply
from agentleague.conformance.peer import Peer
from agentleague.conformance.player_bench import REGISTRATION as REGISTER
from agentleague.conformance.player_bench import PlayerBench, manage
from agentleague.conformance.player_choice_rules import JOINS, expect, expect_utc
from agentleague.conformance.player_notice_rules import acknowledged, league_completed
from agentleague.conformance.registering import expect_registration, registered
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Rules, Tier
from agentleague.conformance.target import endpoint_in, free_port, is_own
from agentleague.conformance.wire import instead, spelled

END = Rules("player")
MUST, SHOULD, ROBUST, PLUS = Tier
VERSION = re.compile(r"\d+\.\d+\.\d+([-+][\w.+-]+)?")
FIELDS = ("display_name", "version", "game_types", "contact_endpoint")
NAME_MAX = 50
NAMED = "player.registration.names-itself"
REGISTRATION = Rules("player", needs=(NAMED,))
MUCH = 20  # registrations that a player may send in a moment after it was refused


def meta_of(bench: PlayerBench) -> Fields:
    """What the player said of itself, as it wrote it."""
    received = registered(bench)
    bench.exchanges.append(received.exchange())
    found = received.params().get("player_meta")
    return found if isinstance(found, dict) else {}


def claimed(bench: PlayerBench) -> tuple[str, str]:
    """The name and the end point with which it registered, wherever they stand."""
    written = meta_of(bench)
    read = getattr(registered(bench).message, "player_meta", None)
    if read:
        return read.display_name, read.contact_endpoint
    return str(written.get("display_name", "")), str(written.get("contact_endpoint", ""))


def params_of(bench: PlayerBench) -> Fields:
    """Its registration, as it wrote it."""
    meta_of(bench)
    return registered(bench).params()


@REGISTRATION.rule("registration.names-itself", MUST, needs=())
def names_itself(bench: PlayerBench) -> None:
    """A player says its name and its end point when it registers.

    R-MSG-04: document 004 section 10.5
    Mend: Send player_meta with display_name and contact_endpoint in LEAGUE_REGISTER_REQUEST.
    """
    expect_registration(bench)
    name, url = claimed(bench)
    if not name.strip() or not url:
        raise Broken("`display_name` and `contact_endpoint` in `player_meta`")


@REGISTRATION.rule("registration.endpoint-is-right", MUST)
def endpoint_is_right(bench: PlayerBench) -> None:
    """A player listens at the end point that it registers.

    R-REG-12: document 001 section 2.2
    Mend: Register the URL at which you listen, with the port that you really got.
    """
    url = claimed(bench)[1]
    if not is_own(url, bench.target.bind):
        raise NotReached(f"the kit calls no other machine, and it registered {spelled(url)}")
    if not Peer(url, bench.limits).is_listening():
        raise Broken(f"a player that listens at {spelled(url)}")


@REGISTRATION.rule("registration.has-all-fields", SHOULD)
def has_all_fields(bench: PlayerBench) -> None:
    """A registration has name, version, games and end point in `player_meta`.

    R-MSG-03: document 003 section 4.2.1
    Mend: Put display_name, version, game_types and contact_endpoint into player_meta.
    Leniency: they may stand elsewhere, under other names, and partly be missing
    """
    meta = meta_of(bench)
    missing = [name for name in FIELDS if not meta.get(name)]
    if missing:
        raise Broken(f"`{missing[0]}` in `player_meta`")


@REGISTRATION.rule("registration.name-is-short", SHOULD)
def name_is_short(bench: PlayerBench) -> None:
    """A display name has at most 50 characters.

    R-REG-11: document 004 section 14.1
    Mend: Choose a shorter display_name.
    Leniency: names of up to 500 characters are taken
    """
    name = claimed(bench)[0]
    if len(name) > NAME_MAX:
        raise Broken(f"a name of at most {NAME_MAX} characters, not {len(name)}")


@REGISTRATION.rule("registration.version", SHOULD, needs=("player.registration.has-all-fields",))
def version(bench: PlayerBench) -> None:
    """A player's version looks like 1.0.0.

    R-REG-11: document 004 section 3.3.2
    Mend: Say `version`: MAJOR.MINOR.PATCH.
    Leniency: any text is taken
    """
    said = meta_of(bench).get("version")
    if said is None:
        raise NotApplicable("it names no version")
    if not isinstance(said, str) or not VERSION.fullmatch(said):
        raise Broken(f'`version` like "1.0.0", not {spelled(said)}')


@REGISTRATION.rule("registration.protocol-version", SHOULD)
def protocol_version(bench: PlayerBench) -> None:
    """A player says which version of the protocol it speaks, 2.0.0 or later.

    R-MSG-03: document 000 section 2.10.1
    Mend: Say `protocol_version`: "2.1.0" in player_meta.
    Leniency: it may be missing
    """
    meta = meta_of(bench)
    said = meta.get("protocol_version")
    if not isinstance(said, str) or not said.startswith("2."):
        raise Broken(f'`protocol_version`: "2.1.0"{instead(meta, "protocol_version")}')


@REGISTRATION.rule(
    "registration.plays-even-odd", SHOULD, needs=("player.registration.has-all-fields",)
)
def plays_even_odd(bench: PlayerBench) -> None:
    """A player has even_odd among its games.

    R-MSG-03: document 004 section 3.3.2
    Mend: Say `game_types`: ["even_odd"].
    Leniency: without a list it may play every game
    """
    games = meta_of(bench).get("game_types")
    if games is None:
        raise NotApplicable("it lists no games")
    if not isinstance(games, list) or "even_odd" not in games:
        raise Broken('"even_odd" in `game_types`')


@REGISTRATION.rule("registration.is-json-rpc", SHOULD)
def is_json_rpc(bench: PlayerBench) -> None:
    """A registration is JSON-RPC 2.0 with the method register_player.

    R-RPC-08: document 001 section 2.2
    Mend: Wrap it: {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": {…}}.
    Leniency: other methods, nested and bare messages are taken too
    """
    meta_of(bench)
    body = registered(bench).fields() or {}
    if body.get("jsonrpc") != "2.0" or body.get("id") is None:
        raise Broken('`jsonrpc` "2.0", and an `id`')
    if body.get("method") not in ("register_player", REGISTER):
        raise Broken("the method register_player")


@REGISTRATION.rule("registration.has-the-envelope", SHOULD)
def has_the_envelope(bench: PlayerBench) -> None:
    """A registration has `protocol`, `message_type` and `conversation_id`.

    R-ENV-01: document 001 section 1.2
    Mend: Put protocol, message_type and conversation_id into every message.
    Leniency: a message that lacks part of the envelope is taken
    """
    said = params_of(bench)
    expect(said, protocol="league.v2", message_type=REGISTER)
    if not isinstance(said.get("conversation_id"), str):
        raise Broken("a text as `conversation_id`")


@REGISTRATION.rule("registration.sender", SHOULD)
def sender(bench: PlayerBench) -> None:
    """A player's sender begins with `player:`.

    R-REG-11: document 004 section 10.2
    Mend: Say `sender`: player: and your name, and later your id.
    Leniency: `sender` may have any form
    """
    params = params_of(bench)
    said = params.get("sender")
    if not isinstance(said, str) or not said.startswith("player:"):
        raise Broken(f'`sender` that begins with "player:"{instead(params, "sender")}')


@REGISTRATION.rule("registration.timestamp", SHOULD)
def timestamp(bench: PlayerBench) -> None:
    """A registration has a timestamp in UTC.

    R-TIME-01: document 000 section 2.4.2
    Mend: Write times in UTC, as 2026-01-15T10:30:00Z.
    Leniency: it may be missing, but a local time is refused
    """
    expect_utc(params_of(bench), "timestamp")


@contextmanager
def another(
    bench: PlayerBench, handler: Callable[[Received], Reply] | None, port: int = 0
) -> Iterator[tuple[Launch, Listener | None, str]]:
    """A second player of the same command, with a manager of its own, if there is a handler."""
    target = bench.target
    if not target.command or "{manager}" not in target.command:
        raise NotApplicable("it takes --command with {manager} in it to start it a second time")
    manager = Listener("manager", handler, bind=target.bind, port=port) if handler else None
    host = f"[{target.bind}]" if ":" in target.bind else target.bind
    url = manager.url if manager else f"http://{host}:{port}/mcp"
    launch = Launch(target.command, bench.places(url), bench.limits.stop)
    try:
        launch.start()
        yield launch, manager, url
    finally:
        launch.close()
        if manager:
            manager.close()


def is_registration(received: Received) -> bool:
    """Whether it asks to take part."""
    return received.name == REGISTER


def has_crashed(launch: Launch) -> bool:
    """Whether it ended as a program does that did not expect what happened."""
    said = launch.last_words()
    is_killed = launch.exit_code is not None and launch.exit_code < 0
    return is_killed or "Traceback (most recent" in said or "Uncaught" in said


@END.rule("registration.manager-comes-later", ROBUST, is_slow=True)
def manager_comes_later(bench: PlayerBench) -> None:
    """A player that starts before its manager registers when the manager is there.

    R-REG-05: document 001 section 9.4
    Mend: Try to register again each second until the manager answers.
    """
    port = free_port(bench.target.bind)
    with another(bench, None, port) as (launch, _, _url):
        if launch.wait(bench.limits.start / 8) is not None:
            raise Broken(f"a player that waits for its manager; it said: {launch.last_words()}")
        manager = Listener("manager", manage, bind=bench.target.bind, port=port)
        try:
            if not manager.wait_for(is_registration, bench.limits.next_step):
                raise Broken("a registration once the manager is there", is_late=True)
        finally:
            manager.close()


@END.rule("registration.manager-is-busy", ROBUST, is_slow=True)
def manager_is_busy(bench: PlayerBench) -> None:
    """A player that is told HTTP 503 registers again a little later.

    R-REG-05: document 001 section 9.4
    Mend: Treat HTTP 503 and a broken connection as no answer, and try again.
    """
    asked: list[Received] = []

    def busy(received: Received) -> Reply:
        asked.append(received)
        is_first = len([each for each in asked if is_registration(each)]) <= 1
        return Reply(status=503, headers={"Retry-After": "1"}) if is_first else manage(received)

    with another(bench, busy) as (_, manager, _url):
        assert manager

        def is_taken_in(received: Received) -> bool:
            return is_registration(received) and received.reply.status == 200

        if not manager.wait_for(is_taken_in, bench.limits.start + bench.limits.next_step):
            for received in manager.received[-1:]:
                bench.exchanges.append(received.exchange())
            raise Broken("a second registration, after HTTP 503", is_late=True)


@END.rule("registration.rejected", ROBUST, is_slow=True)
def rejected(bench: PlayerBench) -> None:
    """A player that is REJECTED ends or waits; it does not crash, and does not ask on and on.

    R-REG-01: document 004 section 3.4.2
    Mend: Read `status` and `reason`, say them to whoever runs you, and end.
    """
    refused = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_RESPONSE",
        "sender": "league_manager",
        "status": "REJECTED",
        "player_id": None,
        "reason": "Maximum players reached",
    }

    def refuse(received: Received) -> Reply:
        return received.result(refused) if is_registration(received) else manage(received)

    with another(bench, refuse) as (launch, manager, _):
        assert manager
        if not manager.wait_for(is_registration, bench.limits.start):
            raise Broken("a registration", is_late=True)
        launch.wait(bench.limits.quiet * 4)
        asked = [each for each in manager.received if is_registration(each)]
        bench.exchanges.append(asked[-1].exchange())
        if has_crashed(launch):
            raise Broken(f"a player that reads REJECTED; it said: {launch.last_words()}")
        if len(asked) > MUCH:
            raise Broken(f"a few registrations at most, not {len(asked)}")


@END.rule("registration.once", SHOULD, needs=(NAMED,))
def once(bench: PlayerBench) -> None:
    """A player that was accepted does not register again.

    R-REG-05: document 004 section 3.4.4
    Mend: Register until you are accepted, and then never again.
    """
    first = registered(bench)
    asked = [each for each in bench.manager.received if is_registration(each)]
    own = [each for each in asked if endpoint_in(each) == endpoint_in(first)]
    if len(own) > 1:
        bench.exchanges += [each.exchange() for each in own[:2]]
        raise Broken(f"one registration, not {len(own)}")


@END.rule("notice.league-completed", SHOULD, needs=(JOINS,))
def completed(bench: PlayerBench) -> None:
    """A player acknowledges LEAGUE_COMPLETED.

    R-FORM-12: document 001 section 3.4
    Mend: Answer notify_league_completed with {"status": "ACKNOWLEDGED"}.
    Leniency: any answer acknowledges, and none is needed
    """
    acknowledged(bench, league_completed(bench))


@END.rule("end.leaves", PLUS, is_slow=True, needs=("player.notice.league-completed",))
def leaves(bench: PlayerBench) -> None:
    """A player ends by itself when its league is over.

    R-PLAYER-04: ours
    Mend: End the process after LEAGUE_COMPLETED, once it is acknowledged.
    """

    def over(received: Received) -> Reply:
        return manage(received, "LEAGUE_COMPLETED")

    with another(bench, over) as (launch, manager, _):
        assert manager
        found = manager.wait_for(is_registration, bench.limits.start)
        if not found:
            raise Broken("a registration", is_late=True)
        url, limits = endpoint_in(found), bench.limits
        if not is_own(url, bench.target.bind):
            raise NotReached(f"the kit calls no other machine, and it registered {spelled(url)}")
        message = bench.request(league_completed(bench))
        deadline = limits.start
        peer = Peer(url, limits)
        while deadline > 0 and not peer.is_listening():
            launch.wait(0.1)
            deadline -= 0.1
        before, bench.peer = bench.peer, peer
        try:
            bench.post("LEAGUE_COMPLETED", message)
        finally:
            bench.peer = before
        if launch.wait(limits.next_step) is None:
            raise Broken("a player that ends by itself")
