"""The rules for managers, before the league begins: who registers, and who is refused."""

import re
from concurrent.futures import ThreadPoolExecutor

from agentleague.conformance.manager_agents import NO_ENDPOINT, AgentOfTheKit
from agentleague.conformance.manager_bench import ENOUGH, NEEDS_MORE, ManagerBench
from agentleague.conformance.manager_checks import (
    MISSING,
    expect_reason,
    expect_registration_refused,
    reason_of,
)
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Rules, Tier

MANAGER = Rules("manager")
MUST, SHOULD, ROBUST, PLUS = Tier
PLAYER_IS_IN = ("manager.registration.player-is-accepted",)
BOTH_ARE_IN = ("manager.registration.referee-is-accepted", *PLAYER_IS_IN)
ANSWERED = ("protocol", "message_type", "timestamp", "status", "league_id", "auth_token")
UNICODE_NAME = "Zoë ★ 玩家 Ж"


def _bring_in(bench: ManagerBench, agent: AgentOfTheKit) -> None:
    try:
        bench.join(agent)
    except NotReached:
        raise Broken("`status` ACCEPTED, with an id", bench.exchanges[0]) from None
    if not agent.id:
        raise Broken(f"`{agent.kind}_id`, by which the manager calls it", agent.exchange)


@MANAGER.rule("registration.referee-is-accepted", MUST)
def referee_is_accepted(bench: ManagerBench) -> None:
    """A manager accepts a referee that registers, and gives it an id.

    R-REG-01: document 001 section 2.1
    Mend: Answer register_referee with `status` ACCEPTED and `referee_id`.
    """
    _bring_in(bench, bench.referees[0])


@MANAGER.rule("registration.player-is-accepted", MUST)
def player_is_accepted(bench: ManagerBench) -> None:
    """A manager accepts a player that registers, and gives it an id.

    R-REG-01: document 001 section 2.2
    Mend: Answer register_player with `status` ACCEPTED and `player_id`.
    """
    _bring_in(bench, bench.players[0])


@MANAGER.rule("registration.gives-a-token", MUST, needs=BOTH_ARE_IN)
def registration_gives_a_token(bench: ManagerBench) -> None:
    """A manager answers a registration with an `auth_token`.

    R-LEAGUE-18: document 001 section 2.2
    Mend: Make a secret for each agent, and answer its registration with it as `auth_token`.
    """
    for agent in (bench.referees[0], bench.players[0]):
        bench.join(agent)
        if not agent.token:
            raise Broken("`auth_token`, a text", agent.exchange)


@MANAGER.rule(
    "registration.answer-is-complete",
    SHOULD,
    mend=f"Answer with {', '.join(ANSWERED)}, `player_id` or `referee_id`, and the envelope.",
    needs=BOTH_ARE_IN,
)
def registration_answer_is_complete(bench: ManagerBench) -> None:
    """The answer to a registration has all fields of document 001.

    R-REG-01: document 001 section 2.2
    Leniency: an answer with an id is read as a yes
    """
    types = ("REFEREE_REGISTER_RESPONSE", "LEAGUE_REGISTER_RESPONSE")
    for agent, expected in zip((bench.referees[0], bench.players[0]), types, strict=True):
        bench.join(agent)
        assert agent.exchange
        said = bench.said(agent.exchange.answer)
        for name in (*ANSWERED, f"{agent.kind}_id"):
            if name not in said and (name != "auth_token" or agent.token):
                raise Broken(f"`{name}`", agent.exchange)
        if (said["message_type"], said["status"]) != (expected, "ACCEPTED"):
            raise Broken(f"`message_type` {expected} and `status` ACCEPTED", agent.exchange)


@MANAGER.rule("registration.ids-are-documented", SHOULD, needs=BOTH_ARE_IN)
def ids_are_documented(bench: ManagerBench) -> None:
    """Players are P01, P02, …, referees REF01, REF02, ….

    R-LEAGUE-14: document 004 sections 3.2.2 and 3.4.2
    Mend: Count players as P01, P02 and referees as REF01, REF02.
    Leniency: an id may be any text
    """
    for agent, pattern in ((bench.referees[0], r"REF\d\d+"), (bench.players[0], r"P\d\d+")):
        bench.join(agent)
        if not re.fullmatch(pattern, agent.id):
            raise Broken(f"an id like {pattern.replace(chr(92) + 'd' * 2, '0')}", agent.exchange)


@MANAGER.rule("registration.no-endpoint", SHOULD, needs=PLAYER_IS_IN)
def no_endpoint(bench: ManagerBench) -> None:
    """A manager refuses a registration without `contact_endpoint` with E003.

    R-MSG-04: document 004 section 10.5 rule 3
    Mend: Answer with the error E003 (-32602) where player_meta.contact_endpoint is missing.
    """
    changed = {"player_meta": {"contact_endpoint": ...}}
    expect_registration_refused(bench, changed, MISSING, "endpoint")


@MANAGER.rule("registration.endpoint-is-no-text", SHOULD, needs=PLAYER_IS_IN)
def endpoint_is_no_text(bench: ManagerBench) -> None:
    """A manager refuses a required field that is null or of another type with E003.

    R-MSG-05, R-MSG-07: document 004 section 10.5
    Mend: Check that player_meta.contact_endpoint is a text.
    """
    for value in (None, NO_ENDPOINT):
        changed = {"player_meta": {"contact_endpoint": value}}
        expect_registration_refused(bench, changed, MISSING, "endpoint")


@MANAGER.rule("registration.no-name", SHOULD, needs=PLAYER_IS_IN)
def no_name(bench: ManagerBench) -> None:
    """A manager refuses a registration that says no name at all with E003.

    R-MSG-04: document 004 section 10.5 rule 3
    Mend: Answer with the error E003 (-32602) where player_meta.display_name is missing.
    Leniency: a player without `display_name` is called by its `sender`
    """
    changed = {"player_meta": {"display_name": ...}, "sender": ""}
    expect_registration_refused(bench, changed, MISSING, "name|sender")


@MANAGER.rule("registration.other-version", SHOULD, needs=PLAYER_IS_IN)
def other_version(bench: ManagerBench) -> None:
    """A manager refuses an agent whose `protocol_version` is below 2.0.0, with E018.

    R-LEAGUE-19: document 000 section 2.10.2
    Mend: Answer with the error E018 where player_meta.protocol_version begins with 1.
    """
    changed = {"player_meta": {"protocol_version": "1.0.0"}}
    expect_registration_refused(bench, changed, ("E018", "E001"), "version")


@MANAGER.rule("registration.other-game", SHOULD, needs=PLAYER_IS_IN)
def other_game(bench: ManagerBench) -> None:
    """A manager rejects a player that does not play its game.

    R-LEAGUE-20: document 004 section 3.4.3
    Mend: Answer with `status` REJECTED and the reason "Unsupported game type".
    """
    changed = {"player_meta": {"game_types": ["chess"]}}
    expect_registration_refused(bench, changed, ("E042", 2004), "game")


@MANAGER.rule(
    "registration.rejection-is-documented", SHOULD, needs=("manager.registration.other-game",)
)
def rejection_is_documented(bench: ManagerBench) -> None:
    """A rejection has a reason and no id, or is an error with a code and a message.

    R-LEAGUE-20, R-REG-18: document 004 section 3.4.2
    Mend: Answer with `status` REJECTED, `player_id` null and a `reason`.
    """
    player = bench.next_player()
    answer = bench.ask(bench.registration(player, game_types=["chess"]))
    if bench.is_in(player, answer):
        player.fault = "of chess"
        bench.blame()
    said, error = bench.said(answer), answer.error
    if error is not None:
        if not isinstance(error.get("code"), int) or not error.get("message"):
            raise Broken("`code` and `message` in the error")
    elif said.get("status") != "REJECTED" or not said.get("reason") or said.get("player_id"):
        raise Broken("`status` REJECTED, a `reason`, and `player_id` null")


@MANAGER.rule("registration.after-a-refusal", SHOULD, needs=PLAYER_IS_IN)
def after_a_refusal(bench: ManagerBench) -> None:
    """Who was refused can mend its registration, and nobody's id is used up.

    R-LEAGUE-20: document 001 section 2.2
    Mend: Change nothing when a registration is refused.
    """
    player = bench.players[1]
    if player.is_in:
        bench.blame()
        raise NotReached("this player is registered already")
    expect_registration_refused(bench, {"player_meta": {"contact_endpoint": ...}}, MISSING, ".")
    _bring_in(bench, player)
    numbers = [re.search(r"\d+", each.id) for each in bench.players[:2]]
    first, second = (int(each[0]) if each else 0 for each in numbers)
    if first and second != first + 1:
        raise Broken(f"the id that follows {bench.players[0].id}", player.exchange)


@MANAGER.rule("registration.repeated", SHOULD, needs=PLAYER_IS_IN)
def registration_repeated(bench: ManagerBench) -> None:
    """A player that registers a second time keeps its id, or is refused as a duplicate.

    R-LEAGUE-32: document 001 section 9.4
    Mend: Look an agent up by its name and contact_endpoint before giving it an id.
    """
    bench.before_the_start()
    player = bench.join(bench.players[0])
    answer = bench.ask(bench.registration(player))
    said = bench.said(answer)
    if reason_of(bench, answer) is None and said.get("player_id") != player.id:
        raise Broken(f"{player.id} again, or a refusal")


@MANAGER.rule("query.before-the-start", SHOULD, needs=PLAYER_IS_IN)
def query_before_the_start(bench: ManagerBench) -> None:
    """A manager refuses to give the table before the league begins, with E030.

    R-LEAGUE-30: document 001 section 6.1
    Mend: Answer league_query with the error E030 until the schedule is made.
    """
    bench.before_the_start()
    bench.join(bench.players[0])
    answer = bench.ask(bench.query("GET_STANDINGS"))
    expect_reason(bench, answer, ("E030",), "start")


@MANAGER.rule("registration.name-in-unicode", SHOULD, needs=PLAYER_IS_IN)
def name_in_unicode(bench: ManagerBench) -> None:
    """A name of up to 50 characters is taken in any script.

    R-LEAGUE-15: document 004 section 3.3.2
    Mend: Treat display_name as text in UTF-8.
    """
    if bench.size < ENOUGH:
        raise NotApplicable(NEEDS_MORE)
    player = bench.next_player()
    before, player.name = player.name, UNICODE_NAME
    if not bench.is_in(player, bench.ask(bench.registration(player))):
        player.name = before
        raise Broken("ACCEPTED")


@MANAGER.rule("registration.all-at-once", ROBUST, needs=BOTH_ARE_IN)
def all_at_once(bench: ManagerBench) -> None:
    """Agents that register at the same moment are all taken in.

    R-LEAGUE-14: document 000 section 2.3.1
    Mend: Decide on one registration at a time, and answer each.
    """
    bench.before_the_start()
    bench.join_referees()
    left = [each for each in bench.players if not each.is_in]
    with ThreadPoolExecutor(len(left) or 1) as pool:
        answers = list(pool.map(lambda each: bench.ask(bench.registration(each)), left))
    for player, answer in zip(left, answers, strict=True):
        if not bench.is_in(player, answer):
            raise Broken(f"ACCEPTED for each of {len(left)} players", is_late=answer.is_late)


@MANAGER.rule("registration.ids-differ", MUST, needs=BOTH_ARE_IN)
def ids_differ(bench: ManagerBench) -> None:
    """No two agents have the same id.

    R-LEAGUE-14: document 000 section 2.3.1
    Mend: Give each agent the next number, one registration at a time.
    """
    _expect_different(bench, "id")


@MANAGER.rule("registration.tokens-differ", MUST, needs=("manager.registration.gives-a-token",))
def tokens_differ(bench: ManagerBench) -> None:
    """No two agents have the same token.

    R-LEAGUE-18: document 001 section 9.3
    Mend: Make a token of its own for each agent, from a source nobody can guess.
    """
    _expect_different(bench, "token")


def _expect_different(bench: ManagerBench, what: str) -> None:
    bench.join_referees()
    seen: dict[str, AgentOfTheKit] = {}
    for agent in (*bench.referees, *bench.players[: max(2, bench.size)]):
        bench.join(agent)
        value = getattr(agent, what)
        if agent.fault:
            continue
        if value and value in seen:
            raise Broken(f"another {what} than that of {seen[value].name}", agent.exchange)
        seen[value] = agent
