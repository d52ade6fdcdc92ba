"""The rules for managers, before the league begins: who registers, and who is refused."""

import re
from concurrent.futures import ThreadPoolExecutor

from agentleague.conformance.exchange import Answer
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


def _said(bench: ManagerBench, agent: AgentOfTheKit) -> Answer:
    bench.join(agent)
    assert agent.exchange
    return agent.exchange.answer


@MANAGER.rule(
    "registration.referee-is-accepted",
    MUST,
    number="R-REG-01",
    source="document 001 section 2.1",
    says="A manager accepts a referee that registers, and gives it an id.",
    mend="Answer register_referee with `status` ACCEPTED and `referee_id`.",
)
def referee_is_accepted(bench: ManagerBench) -> None:
    _bring_in(bench, bench.referees[0])


@MANAGER.rule(
    "registration.player-is-accepted",
    MUST,
    number="R-REG-01",
    source="document 001 section 2.2",
    says="A manager accepts a player that registers, and gives it an id.",
    mend="Answer register_player with `status` ACCEPTED and `player_id`.",
)
def player_is_accepted(bench: ManagerBench) -> None:
    _bring_in(bench, bench.players[0])


@MANAGER.rule(
    "registration.gives-a-token",
    MUST,
    number="R-LEAGUE-18",
    source="document 001 section 2.2",
    says="A manager answers a registration with an `auth_token`.",
    mend="Make a secret for each agent, and answer its registration with it as `auth_token`.",
    needs=BOTH_ARE_IN,
)
def registration_gives_a_token(bench: ManagerBench) -> None:
    for agent in (bench.referees[0], bench.players[0]):
        bench.join(agent)
        if not agent.token:
            raise Broken("`auth_token`, a text", agent.exchange)


@MANAGER.rule(
    "registration.answer-is-complete",
    SHOULD,
    number="R-REG-01",
    source="document 001 section 2.2",
    says="The answer to a registration has all fields of document 001.",
    mend=f"Answer with {', '.join(ANSWERED)}, `player_id` or `referee_id`, and the envelope.",
    needs=BOTH_ARE_IN,
    leniency="an answer with an id is read as a yes",
)
def registration_answer_is_complete(bench: ManagerBench) -> None:
    types = ("REFEREE_REGISTER_RESPONSE", "LEAGUE_REGISTER_RESPONSE")
    for agent, expected in zip((bench.referees[0], bench.players[0]), types, strict=True):
        said = bench.said(_said(bench, agent))
        for name in (*ANSWERED, f"{agent.kind}_id"):
            if name not in said and (name != "auth_token" or agent.token):
                raise Broken(f"`{name}`", agent.exchange)
        if (said["message_type"], said["status"]) != (expected, "ACCEPTED"):
            raise Broken(f"`message_type` {expected} and `status` ACCEPTED", agent.exchange)


@MANAGER.rule(
    "registration.ids-are-documented",
    SHOULD,
    number="R-LEAGUE-14",
    source="document 004 sections 3.2.2 and 3.4.2",
    says="Players are P01, P02, …, referees REF01, REF02, ….",
    mend="Count players as P01, P02 and referees as REF01, REF02.",
    needs=BOTH_ARE_IN,
    leniency="an id may be any text",
)
def ids_are_documented(bench: ManagerBench) -> None:
    for agent, pattern in ((bench.referees[0], r"REF\d\d+"), (bench.players[0], r"P\d\d+")):
        bench.join(agent)
        if not re.fullmatch(pattern, agent.id):
            raise Broken(f"an id like {pattern.replace(chr(92) + 'd' * 2, '0')}", agent.exchange)


@MANAGER.rule(
    "registration.repeats-the-conversation",
    SHOULD,
    number="R-REG-01",
    source="document 004 section 10.2",
    says="The answer to a registration has the `conversation_id` of its request.",
    mend="Copy `conversation_id` from the request into the answer.",
    needs=PLAYER_IS_IN,
    leniency="the conversation of an answer is not read",
)
def registration_repeats_the_conversation(bench: ManagerBench) -> None:
    player = bench.players[0]
    said = bench.said(_said(bench, player))
    assert player.exchange
    if str(said.get("conversation_id")).encode() not in player.exchange.sent:
        raise Broken("the `conversation_id` of the request", player.exchange)


@MANAGER.rule(
    "registration.no-endpoint",
    SHOULD,
    number="R-MSG-04",
    source="document 004 section 10.5 rule 3",
    says="A manager refuses a registration without `contact_endpoint` with E003.",
    mend="Answer with the error E003 (-32602) where player_meta.contact_endpoint is missing.",
    needs=PLAYER_IS_IN,
)
def no_endpoint(bench: ManagerBench) -> None:
    changed = {"player_meta": {"contact_endpoint": ...}}
    expect_registration_refused(bench, changed, MISSING, "endpoint")


@MANAGER.rule(
    "registration.no-name",
    SHOULD,
    number="R-MSG-04",
    source="document 004 section 10.5 rule 3",
    says="A manager refuses a registration that says no name at all with E003.",
    mend="Answer with the error E003 (-32602) where player_meta.display_name is missing.",
    needs=PLAYER_IS_IN,
    leniency="a player without `display_name` is called by its `sender`",
)
def no_name(bench: ManagerBench) -> None:
    changed = {"player_meta": {"display_name": ...}, "sender": ""}
    expect_registration_refused(bench, changed, MISSING, "name|sender")


@MANAGER.rule(
    "registration.null-endpoint",
    SHOULD,
    number="R-MSG-07",
    source="document 004 section 10.5 rule 3",
    says="A manager refuses null for a required field with E003.",
    mend="Treat null in player_meta.contact_endpoint as missing.",
    needs=PLAYER_IS_IN,
)
def null_endpoint(bench: ManagerBench) -> None:
    changed = {"player_meta": {"contact_endpoint": None}}
    expect_registration_refused(bench, changed, MISSING, "endpoint")


@MANAGER.rule(
    "registration.endpoint-is-no-text",
    SHOULD,
    number="R-MSG-05",
    source="document 004 section 10.5 rule 2",
    says="A manager refuses a required field of another type with E003.",
    mend="Check that player_meta.contact_endpoint is a text.",
    needs=PLAYER_IS_IN,
)
def endpoint_is_no_text(bench: ManagerBench) -> None:
    changed = {"player_meta": {"contact_endpoint": NO_ENDPOINT}}
    expect_registration_refused(bench, changed, MISSING, "endpoint")


@MANAGER.rule(
    "registration.other-version",
    SHOULD,
    number="R-LEAGUE-19",
    source="document 000 section 2.10.2",
    says="A manager refuses an agent whose `protocol_version` is below 2.0.0, with E018.",
    mend="Answer with the error E018 where player_meta.protocol_version begins with 1.",
    needs=PLAYER_IS_IN,
)
def other_version(bench: ManagerBench) -> None:
    changed = {"player_meta": {"protocol_version": "1.0.0"}}
    expect_registration_refused(bench, changed, ("E018", "E001"), "version")


@MANAGER.rule(
    "registration.other-game",
    SHOULD,
    number="R-LEAGUE-20",
    source="document 004 section 3.4.3",
    says="A manager rejects a player that does not play its game.",
    mend='Answer with `status` REJECTED and the reason "Unsupported game type".',
    needs=PLAYER_IS_IN,
)
def other_game(bench: ManagerBench) -> None:
    changed = {"player_meta": {"game_types": ["chess"]}}
    expect_registration_refused(bench, changed, ("E042", 2004), "game")


@MANAGER.rule(
    "registration.rejection-is-documented",
    SHOULD,
    number="R-LEAGUE-20",
    also=("R-REG-18",),
    source="document 004 section 3.4.2",
    says="A rejection has a reason and no id, or is an error with a code and a message.",
    mend="Answer with `status` REJECTED, `player_id` null and a `reason`.",
    needs=("manager.registration.other-game",),
)
def rejection_is_documented(bench: ManagerBench) -> None:
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


@MANAGER.rule(
    "registration.after-a-refusal",
    SHOULD,
    number="R-LEAGUE-20",
    source="document 001 section 2.2",
    says="Who was refused can mend its registration, and nobody's id is used up.",
    mend="Change nothing when a registration is refused.",
    needs=PLAYER_IS_IN,
)
def after_a_refusal(bench: ManagerBench) -> None:
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


@MANAGER.rule(
    "registration.repeated",
    SHOULD,
    number="R-LEAGUE-32",
    source="document 001 section 9.4",
    says="A player that registers a second time keeps its id, or is refused as a duplicate.",
    mend="Look an agent up by its name and contact_endpoint before giving it an id.",
    needs=PLAYER_IS_IN,
)
def registration_repeated(bench: ManagerBench) -> None:
    bench.before_the_start()
    player = bench.join(bench.players[0])
    answer = bench.ask(bench.registration(player))
    said = bench.said(answer)
    if reason_of(bench, answer) is None and said.get("player_id") != player.id:
        raise Broken(f"{player.id} again, or a refusal")


@MANAGER.rule(
    "query.before-the-start",
    SHOULD,
    number="R-LEAGUE-30",
    source="document 001 section 6.1",
    says="A manager refuses to give the table before the league begins, with E030.",
    mend="Answer league_query with the error E030 until the schedule is made.",
    needs=PLAYER_IS_IN,
)
def query_before_the_start(bench: ManagerBench) -> None:
    bench.before_the_start()
    bench.join(bench.players[0])
    answer = bench.ask(bench.query("GET_STANDINGS"))
    expect_reason(bench, answer, ("E030",), "start")


@MANAGER.rule(
    "registration.name-in-unicode",
    SHOULD,
    number="R-LEAGUE-15",
    source="document 004 section 3.3.2",
    says="A name of up to 50 characters is taken in any script.",
    mend="Treat display_name as text in UTF-8.",
    needs=PLAYER_IS_IN,
)
def name_in_unicode(bench: ManagerBench) -> None:
    if bench.size < ENOUGH:
        raise NotApplicable(NEEDS_MORE)
    player = bench.next_player()
    before, player.name = player.name, UNICODE_NAME
    if not bench.is_in(player, bench.ask(bench.registration(player))):
        player.name = before
        raise Broken("ACCEPTED")


@MANAGER.rule(
    "registration.all-at-once",
    ROBUST,
    number="R-LEAGUE-14",
    source="document 000 section 2.3.1",
    says="Agents that register at the same moment are all taken in.",
    mend="Decide on one registration at a time, and answer each.",
    needs=BOTH_ARE_IN,
)
def all_at_once(bench: ManagerBench) -> None:
    bench.before_the_start()
    bench.join_referees()
    left = [each for each in bench.players if not each.is_in]
    with ThreadPoolExecutor(len(left) or 1) as pool:
        answers = list(pool.map(lambda each: bench.ask(bench.registration(each)), left))
    for player, answer in zip(left, answers, strict=True):
        if not bench.is_in(player, answer):
            raise Broken(f"ACCEPTED for each of {len(left)} players", is_late=answer.is_late)


@MANAGER.rule(
    "registration.ids-differ",
    MUST,
    number="R-LEAGUE-14",
    source="document 000 section 2.3.1",
    says="No two agents have the same id.",
    mend="Give each agent the next number, one registration at a time.",
    needs=BOTH_ARE_IN,
)
def ids_differ(bench: ManagerBench) -> None:
    _expect_different(bench, "id")


@MANAGER.rule(
    "registration.tokens-differ",
    MUST,
    number="R-LEAGUE-18",
    source="document 001 section 9.3",
    says="No two agents have the same token.",
    mend="Make a token of its own for each agent, from a source nobody can guess.",
    needs=("manager.registration.gives-a-token",),
)
def tokens_differ(bench: ManagerBench) -> None:
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
