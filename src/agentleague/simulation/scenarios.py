"""The league that a seed stands for, in each mode, and what may be expected of it.

calm        nothing goes wrong, but one player may be dead, silent, slow or rude
chaos       a few of all the things that can go wrong, another few with each seed
liveness    nearly everything goes wrong for a while, then nothing any more
seats       the same as chaos, with players that fetch their calls from the manager
standby     two managers share a database; either, their ways to it and itself fail
hostile     a thief, referees that do not let go, agents that start again and again
formats     as chaos, in any format: Swiss, knockout, groups, ladder, one after the other
exhaustive  one league again and again; each time a crash after another event

The exhaustive crashes have numbers, so that a seed names one of them. First each process crashes
after each event of a league, alone and in other ways; then come pairs of crashes, close together
and far apart; then the same in the next league.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.games.game import Game
from agentleague.simulation import agents as traits
from agentleague.simulation import formats as formats_of
from agentleague.simulation.agents import DEFAULT, Agents
from agentleague.simulation.database import DATABASE
from agentleague.simulation.faults import OWNER, Fault
from agentleague.simulation.invariants import LeagueHistory
from agentleague.simulation.league import MANAGER, STANDBY, SimulatedLeague
from agentleague.simulation.network import RELIABLE, Conditions

GAMES: tuple[Game, ...] = (even_odd, even_odd, even_odd, rock_paper_scissors, tic_tac_toe)
FILES_EVERY = 7  # one league in so many has a journal of files; no divisor of the crash kinds
EVENTS_A_PLAYER = 150  # in a league of one cycle, roughly
TROUBLE_SECONDS = 200.0
EXHAUSTIVE_SECONDS = 300.0  # after which nothing crashes any more
EVERYBODY = (MANAGER, "referee", "player")
PAIRS = 1_000  # of crashes, in one league
PAIR_GAPS = (1, 2, 5, 20, 80)  # events between the two crashes of a pair


class Scenario(NamedTuple):
    """One league and its faults."""

    seed: int
    players: int = 4
    referees: int = 2
    settings: Mapping[str, Any] = {}
    agents: Agents = DEFAULT
    conditions: Conditions = RELIABLE
    faults: Sequence[Fault] = ()
    dead: str = ""  # dies as soon as the league has begun
    wrong_clocks: bool = False
    sqlite: bool = False  # whether its journal lies in files, too
    standby: bool = False  # whether two managers share a database
    latecomers: int = 0  # players who come when it has begun
    trouble_seconds: float = 0.0  # until nothing goes wrong any more
    final_crash_seconds: float | None = None  # how long the manager is away when the end is on disk
    history: LeagueHistory = LeagueHistory()

    def names(self, *kinds: str) -> list[str]:
        """`manager`, `referee1`… or `player1`…"""
        numbers = {"referee": range(1, self.referees + 1), "player": range(1, self.players + 1)}
        return [f"{kind}{number}" for kind in kinds for number in numbers.get(kind, [""])]

    @property
    def has_holders(self) -> bool:
        """Whether a referee takes part that may hold a match for long, as a foreign one may."""
        return not {traits.FOREIGN, traits.HOLDING}.isdisjoint(self.agents.traits.values())


def calm(seed: int) -> Scenario:
    """Nothing goes wrong, so only an agent that is to blame loses or waits."""
    chance = Random(f"calm|{seed}")
    plain = Scenario(seed, chance.randint(2, 8), chance.randint(1, 3))
    one = chance.choice(plain.names("player"))
    trait = chance.choice(
        ("", "dead", traits.MUTE, traits.SLOW, traits.RUDE, traits.BABBLING, traits.IMPOSTOR)
    )
    if trait == traits.MUTE and seed % 2:
        trait = traits.HANGING
    loses = trait in ("dead", traits.MUTE, traits.HANGING, traits.RUDE, traits.BABBLING)
    is_odd = trait not in ("", "dead")
    scenario = plain._replace(
        settings={"cycles": chance.choice((1, 1, 2)), **_other_rules(seed)},
        agents=Agents(game=chance.choice(GAMES), traits={one: trait} if is_odd else {}),
        dead=one if trait == "dead" else "",
        wrong_clocks=chance.random() < 0.5,
        sqlite=seed % FILES_EVERY == 0,
        history=LeagueHistory(
            away=[one] if loses else (),
            silent=one if trait in ("dead", traits.MUTE, traits.HANGING) else "",
            prompt=True,
        ),
    )
    return _sometimes_in_format(scenario)


def chaos(seed: int) -> Scenario:
    """A few kinds of trouble and none of the others, so that each is also seen alone."""
    scenario = _troubled(seed, Random(f"chaos|{seed}"), (2, 3, 4, 4, 4, 4, 5, 6), TROUBLES)
    return _with_latecomers(_sometimes_in_format(scenario))


def formats(seed: int) -> Scenario:
    """The same in a format by the seed, and more often at its turns."""
    chance = Random(f"formats|{seed}")
    scenario = _troubled(seed, chance, (3, 4, 5, 6, 6, 7, 8), FORMAT_TROUBLES)
    return _with_latecomers(_in_format(scenario, formats_of.drawn(chance, scenario.players)))


def _sometimes_in_format(scenario: Scenario) -> Scenario:
    return _in_format(scenario, formats_of.sometimes(scenario.seed, scenario.players))


def _in_format(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    if formats_of.is_timed(settings):
        agents = scenario.agents._replace(think_seconds=(0.0, 3.0))
        scenario = scenario._replace(wrong_clocks=False, agents=agents)
    return scenario._replace(settings={**scenario.settings, **settings})


def _with_latecomers(scenario: Scenario) -> Scenario:
    if not scenario.settings.get("stages"):
        return scenario
    chance = Random(f"late|{scenario.seed}")
    latecomers = chance.choice((0, 1, 2))
    names = [f"player{scenario.players + 1 + number}" for number in range(latecomers)]
    soon = EVENTS_A_PLAYER * scenario.players // 3  # Else it may be over.
    arrivals = [Fault(chance.randint(1, soon), "arrive", (name,), 0.0) for name in names]
    scenario = scenario._replace(faults=[*scenario.faults, *arrivals], latecomers=latecomers)
    return scenario._replace(history=expected(scenario))


def _troubled(
    seed: int, chance: Random, sizes: Sequence[int], troubles: Sequence["Trouble"]
) -> Scenario:
    plain = Scenario(
        seed,
        chance.choice(sizes),
        chance.choice((1, 2, 2, 3)),
        conditions=Conditions((0.0005, chance.choice((0.01, 0.01, 0.1, 1.0)))),
        wrong_clocks=chance.random() < 0.3,
        trouble_seconds=TROUBLE_SECONDS,
    )
    run = chance.choice(((0.0, 0.0), (0.0, 0.1), (0.0, 3.0)))
    agents = Agents(
        referees_keep_state=chance.random() < 0.5, game=chance.choice(GAMES), think_seconds=run
    )
    scenario = plain._replace(agents=agents)
    for add in chance.sample(troubles, chance.randint(1, 3)):
        scenario = add(scenario, chance)
    return scenario._replace(history=expected(scenario), sqlite=seed % FILES_EVERY == 0)


def seats(seed: int) -> Scenario:
    """The league that chaos draws, with seated players and what is hard for those."""
    chance, scenario = Random(f"seats|{seed}"), chaos(seed)
    forgetful = {name for fault in scenario.faults if fault.kind == "amnesia" for name in fault.who}
    unfit = {*scenario.agents.traits, *forgetful}  # Who forgot its token has lost its seat.
    fit = [name for name in scenario.names("player") if name not in unfit]
    if not fit:
        return scenario
    seated, polls = chance.sample(fit, chance.randint(1, len(fit))), chance.choice((0.0, 0.1, 0.3))
    if scenario.conditions.delay_seconds[1] > 0.1:
        polls = 0.0  # Before they are made again, who asks has no time left.
    scenario = scenario._replace(
        agents=scenario.agents._replace(seated=seated),
        conditions=scenario.conditions._replace(polls=polls),
    )
    for kind, who, seconds in (
        ("crash", [MANAGER], (0.01, 0.5, 20.0)),
        ("crash", seated, (0.01, 0.5)),
        ("double", seated, (0.0,)),
    ):
        if chance.random() < 0.5:
            scenario = _more(scenario, chance, kind, who, seconds)
    return scenario._replace(history=expected(scenario))


def standby(seed: int) -> Scenario:
    """Whoever owns the league is killed, stopped or cut off, and the database fails."""
    chance = Random(f"standby|{seed}")
    scenario = Scenario(
        seed,
        chance.choice((2, 3, 4, 4)),
        chance.choice((1, 2, 2)),
        agents=Agents(referees_keep_state=chance.random() < 0.5, think_seconds=(0.0, 2.0)),
        conditions=Conditions((0.0005, chance.choice((0.01, 0.01, 0.1)))),
        wrong_clocks=chance.random() < 0.3,
        trouble_seconds=TROUBLE_SECONDS,
        standby=True,
    )
    for add in chance.sample(STANDBY_TROUBLES, chance.randint(1, 4)):
        scenario = add(scenario, chance)
    if chance.random() < 0.3:
        touched = {name for fault in scenario.faults for name in fault.who}
        seated = [name for name in scenario.names("player") if name not in touched]
        scenario = scenario._replace(agents=scenario.agents._replace(seated=seated))
    return _sometimes_in_format(scenario._replace(history=expected(scenario)))


def liveness(seed: int) -> Scenario:
    """Everything at once; then a manager, one referee and some players are well, and must end."""
    chance = Random(f"liveness|{seed}")
    agents = Agents(referees_keep_state=chance.random() < 0.5, think_seconds=(0.0, 1.0))
    loss = chance.uniform(0.1, 0.6)
    scenario = Scenario(
        seed,
        chance.randint(2, 5),
        chance.randint(1, 3),
        settings={"cycles": chance.choice((1, 2, 3))},
        agents=agents,
        conditions=Conditions((0.0005, 1.0), loss, resets=0.5, repeats=0.2),
        wrong_clocks=True,
        trouble_seconds=chance.choice((30.0, 100.0, TROUBLE_SECONDS)),
    )
    for add in (*TROUBLES, *TROUBLES):
        scenario = add(scenario, chance)
    gone = [*scenario.names("referee")[1:], *scenario.names("player")[2:]]
    dead = chance.sample(gone, chance.randint(0, len(gone)))
    deaths = [Fault(_event(scenario, chance), "crash", (name,), None) for name in dead]
    faults = [fault for fault in scenario.faults if fault.kind != "abort"]
    scenario = scenario._replace(faults=[*faults, *deaths])
    if chance.random() < 0.2:  # The manager dies once more: the end is on disk, and nobody knows.
        scenario = scenario._replace(final_crash_seconds=chance.choice((0.5, 15.0)))
    scenario = scenario._replace(history=expected(scenario), sqlite=seed % FILES_EVERY == 0)
    return _sometimes_in_format(scenario)


def hostile(seed: int) -> Scenario:
    """Somebody attacks a league whose agents come and go, so that tokens and referees change."""
    chance = Random(f"hostile|{seed}")
    plain = Scenario(
        seed,
        chance.randint(3, 7),
        chance.choice((2, 2, 3)),
        settings={"cycles": chance.choice((1, 2)), **_other_rules(seed)},
        trouble_seconds=TROUBLE_SECONDS,
        sqlite=seed % FILES_EVERY == 0,
    )
    run = chance.choice(((0.0, 0.1), (0.0, 1.0), (0.0, 3.0)))
    agents = Agents(
        referees_keep_state=chance.random() < 0.8,
        game=chance.choice(GAMES),
        think_seconds=run,
        capacity=chance.choice((1, 2, 64)),
        thief=True,
    )
    scenario = plain._replace(agents=agents)
    odd = chance.choice((traits.HOLDING, traits.HOLDING, traits.MEDDLING, ""))
    rude = chance.choice((traits.RUDE, "", ""))
    for name, trait in (("referee2", odd), ("player1", rude)):
        scenario = _with_trait(scenario, name, trait) if trait else scenario
    for add in chance.sample(COMINGS, chance.randint(1, 2)):
        scenario = add(scenario, chance)
    scenario = _sometimes_in_format(scenario._replace(history=expected(scenario)))
    # A thief that may come late is a player as any other.
    return scenario._replace(settings={**scenario.settings, "late": "refuse"})


def _other_rules(seed: int) -> dict[str, Any]:
    chance = Random(f"rules|{seed}")
    return {
        "tie_breaks": chance.choice(TIE_BREAKS),
        "retry_backoff": chance.choice((1.0, 2.0)),
        "patience": chance.choice(("learning", "documents")),
    }


def _agents_come_back(scenario: Scenario, chance: Random) -> Scenario:
    who = scenario.names("referee", "player")
    for _ in range(chance.randint(1, 3)):
        scenario = _more(scenario, chance, "crash", who, (0.01, 0.5))
    return scenario


def _a_silent_pause(scenario: Scenario, chance: Random) -> Scenario:
    """A referee says nothing during a pause, and is awake when it ends."""
    event, name = _event(scenario, chance), chance.choice(scenario.names("referee"))
    pause = [Fault(event, "sleep", (name,), 14.0), Fault(event, "pause", (MANAGER,), 14.5)]
    return scenario._replace(faults=[*scenario.faults, *pause])


Trouble = Callable[[Scenario, Random], Scenario]


def _faults(kinds: Sequence[str], who: Sequence[str], seconds: Sequence[float]) -> Trouble:
    """Adds faults of one of these kinds; a single kind is not drawn."""

    def add(scenario: Scenario, chance: Random) -> Scenario:
        kind = chance.choice(kinds) if len(kinds) > 1 else kinds[0]
        return _more(scenario, chance, kind, scenario.names(*who), seconds)

    return add


COMINGS: Sequence[Trouble] = (
    *(_agents_come_back, _agents_come_back),
    _faults(["flapping"], ["referee", "player"], [7.0]),
    _a_silent_pause,
)
TIE_BREAKS: Sequence[Sequence[str]] = (
    ("head_to_head", "wins", "technical_losses", "player_id"),
    ("technical_losses", "player_id"),
    ("wins", "technical_losses", "head_to_head"),
)


def _ways_are_cut(scenario: Scenario, chance: Random) -> Scenario:
    everybody = scenario.names(*EVERYBODY)
    faults = list(scenario.faults)
    for _ in range(chance.randint(1, 3)):
        kind = chance.choice(("one-way cut", "cut", "partition"))
        number = 2 if kind != "partition" else chance.randint(1, len(everybody) - 1)
        who = tuple(chance.sample(everybody, number))
        seconds = chance.choice((0.5, 5.0, 20.0, 60.0))
        faults.append(Fault(_event(scenario, chance), kind, who, seconds))
    return scenario._replace(faults=faults)


def _messages_are_lost(scenario: Scenario, chance: Random) -> Scenario:
    conditions = scenario.conditions._replace(
        loss=chance.choice((0.02, 0.1, 0.3)),
        resets=chance.choice((0.0, 0.5, 1.0)),
        repeats=chance.choice((0.0, 0.2)),
    )
    return scenario._replace(conditions=conditions)


def _messages_repeat(scenario: Scenario, chance: Random) -> Scenario:
    conditions = scenario.conditions._replace(repeats=chance.choice((0.1, 0.5)))
    return scenario._replace(conditions=conditions)


def _organiser_commands(scenario: Scenario, chance: Random) -> Scenario:
    """A league is seldom aborted, since little can go wrong in it afterwards."""
    kind = chance.choice(("pause", "pause", "pause", "rule", "rule", "remove", "remove", "abort"))
    who = scenario.names("player") if kind == "remove" else [MANAGER]
    return _more(scenario, chance, kind, who, (0.5, 5.0, 30.0) if kind == "pause" else (0.0,))


def _odd_players(scenario: Scenario, chance: Random) -> Scenario:
    kinds = (traits.SLOW, traits.LATE, traits.RUDE, traits.BABBLING, traits.MUTE, traits.IMPOSTOR)
    return _with_trait(scenario, chance.choice(scenario.names("player")), chance.choice(kinds))


def _odd_referees(scenario: Scenario, chance: Random) -> Scenario:
    """At least one referee is ours and honest."""
    names = scenario.names("referee")[1:]
    kinds = (traits.FOREIGN, traits.FALSE)
    if not names:
        return scenario
    return _with_trait(scenario, chance.choice(names), chance.choice(kinds))


TROUBLES: Sequence[Trouble] = (
    *[_faults(["crash"], [MANAGER], [0.01, 0.5, 5.0, 30.0])] * 2,
    *[_faults(["crash", "amnesia"], ["referee"], [0.01, 0.5, 5.0, 30.0])] * 2,
    _faults(["crash", "amnesia"], ["player"], [0.01, 0.5, 5.0, 60.0]),
    _faults(["sleep"], EVERYBODY, [0.3, 3.0, 12.0, 40.0]),
    _ways_are_cut,
    _messages_are_lost,
    _messages_repeat,
    _faults(["full disk", "failing disk", "slow disk"], [MANAGER], [0.5, 3.0, 15.0]),
    *(_organiser_commands, _organiser_commands),
    _odd_players,
    _odd_referees,
)


FORMAT_TROUBLES: Sequence[Trouble] = (
    *TROUBLES,
    *[_faults(["crash at a turn"], [MANAGER], [0.01, 0.5, 5.0, 30.0])] * 4,
    *[_faults(["rule"], [MANAGER], [0.0])] * 3,
    *[_faults(["remove"], ["player"], [0.0])] * 3,
)


MANAGERS = (OWNER, OWNER, MANAGER, STANDBY)
SERVING = {*MANAGERS, DATABASE}


def _is_cut_off(scenario: Scenario, chance: Random) -> Scenario:
    """A manager is cut off from the database, but not from the agents."""
    way = chance.sample([chance.choice(MANAGERS), DATABASE], 2)
    kind, seconds = chance.choice(("cut", "one-way cut")), chance.choice((0.1, 1.0, 6.0, 20.0))
    fault = Fault(_event(scenario, chance), kind, tuple(way), seconds)
    return scenario._replace(faults=[*scenario.faults, fault])


STANDBY_TROUBLES: Sequence[Trouble] = (
    *[_faults(["crash"], MANAGERS, [0.01, 0.5, 5.0, 30.0])] * 2,
    *[_faults(["sleep"], MANAGERS, [0.3, 5.0, 8.0, 12.0])] * 2,
    *[_is_cut_off] * 4,
    *[_faults(["lost connection"], MANAGERS, [0.0])] * 2,
    _faults(["database restart"], [DATABASE], [0.01, 1.0, 10.0]),
    _faults(["full disk", "slow disk"], [DATABASE], [0.5, 3.0, 15.0]),
    _faults(["crash", "amnesia"], ["referee", "player"], [0.01, 0.5, 5.0]),
    _messages_are_lost,
    _messages_repeat,
    _organiser_commands,
)


def _more(
    scenario: Scenario, chance: Random, kind: str, who: Sequence[str], seconds: Sequence[float]
) -> Scenario:
    faults = [
        Fault(_event(scenario, chance), kind, (chance.choice(who),), chance.choice(seconds))
        for _ in range(chance.randint(1, 3))
    ]
    return scenario._replace(faults=[*scenario.faults, *faults])


def _event(scenario: Scenario, chance: Random) -> int:
    return chance.randint(1, EVENTS_A_PLAYER * scenario.players)


def _with_trait(scenario: Scenario, name: str, trait: str) -> Scenario:
    agents = scenario.agents
    return scenario._replace(agents=agents._replace(traits={**agents.traits, name: trait}))


def expected(scenario: Scenario) -> LeagueHistory:
    """What may be expected of the league after these faults."""
    touched = {name for fault in scenario.faults for name in fault.who}
    trait_of = scenario.agents.traits
    referees = [fault for fault in scenario.faults if _concerns_referees(fault)]
    doubled = {name for fault in scenario.faults if fault.kind == "double" for name in fault.who}
    is_deaf = any(map(_makes_deaf, scenario.faults))
    held_up = set(scenario.agents.seated) if is_deaf else set()  # They wait as for a slow player.
    lossy = scenario.conditions.loss > 0 or any(map(_loses_messages, scenario.faults))
    odd = {name for name, trait in trait_of.items() if trait != traits.IMPOSTOR}
    return LeagueHistory(
        away=sorted(name for name in touched | odd | held_up if name.startswith("player")),
        referees_away=bool(referees) or bool(odd & set(scenario.names("referee"))),
        no_contests=lossy or scenario.has_holders or len(referees) > 2,
        lossy=lossy,
        odd=sorted(
            (odd | doubled) - {name for name, trait in trait_of.items() if trait == traits.SLOW}
        ),
        disputes=not {traits.FALSE, traits.MEDDLING}.isdisjoint(trait_of.values()),
        sound_disk=not any(map(_concerns_rows, scenario.faults)),
        steady=not lossy and not any(SERVING.intersection(fault.who) for fault in scenario.faults),
        aborted=any(fault.kind == "abort" for fault in scenario.faults),
    )


def _loses_messages(fault: Fault) -> bool:
    is_cut = fault.kind in ("one-way cut", "cut") and MANAGER in fault.who
    is_cut = is_cut and DATABASE not in fault.who  # Its connections notice what is lost.
    return is_cut or fault.kind in ("partition", "flapping")


def _concerns_referees(fault: Fault) -> bool:
    """A manager that hears nobody, since it sleeps or its disk is full, takes them for dead."""
    is_away = fault.kind == "full disk" or DATABASE in fault.who
    return is_away or _makes_deaf(fault) or any(name.startswith("referee") for name in fault.who)


def _makes_deaf(fault: Fault) -> bool:
    is_asleep = fault.kind == "sleep" and not SERVING.isdisjoint(fault.who)
    return is_asleep or fault.who == (DATABASE,)


def _concerns_rows(fault: Fault) -> bool:
    """Whether a row may be written long after it was decided."""
    return fault.kind.endswith(("disk", "connection")) or DATABASE in fault.who


class CrashKind(NamedTuple):
    """One way to crash: the fault, and what may be expected after it."""

    kind: str
    who: tuple[str, ...]
    seconds: float | None
    history: LeagueHistory = LeagueHistory()
    keeps_state: bool = False


PLAYERS = Scenario(0).names("player")
AWAY = LeagueHistory(referees_away=True)
ALONE_AWAY = AWAY._replace(steady=True)
CRASH_KINDS: Sequence[CrashKind] = (
    CrashKind("crash", (MANAGER,), 0.5),
    CrashKind("crash", ("referee1",), 0.5, AWAY),
    CrashKind("crash", ("referee2",), 0.5, AWAY),
    *(CrashKind("crash", (who,), 0.5, LeagueHistory(brief=[who])) for who in PLAYERS),
    CrashKind("crash", (MANAGER,), 30.0),
    CrashKind("crash", ("referee1",), 0.5, ALONE_AWAY, keeps_state=True),
    CrashKind("crash", ("referee1",), None, AWAY),
    CrashKind("crash", ("referee2",), None, AWAY),
    CrashKind("crash", ("player1",), None, LeagueHistory(away=["player1"])),
    CrashKind("amnesia", ("player1",), 0.5, LeagueHistory(away=["player1"])),
    CrashKind("crash", ("referee1", "referee2"), 0.5, AWAY),
    CrashKind("crash", (MANAGER, "referee1"), 0.5, AWAY),
    CrashKind("sleep", ("referee1",), 15.0, AWAY),
    CrashKind("sleep", (MANAGER,), 30.0, AWAY),
    CrashKind("failing disk", (MANAGER,), 1.0),
)


def exhaustive(number: int) -> Scenario:
    """The crash of this number."""
    league_seed, left = 0, number
    while left >= crashes_total(league_seed):
        left -= crashes_total(league_seed)
        league_seed += 1
    event, kind = divmod(left, len(CRASH_KINDS))
    if event < events_total(league_seed):
        scenario = _single(league_seed, event + 1, CRASH_KINDS[kind])
    else:
        scenario = _pair(league_seed, left - len(CRASH_KINDS) * events_total(league_seed))
    return scenario._replace(sqlite=number % FILES_EVERY == 0)


def crashes_total(league_seed: int = 0) -> int:
    """How many crashes there are in the league of one seed."""
    return len(CRASH_KINDS) * events_total(league_seed) + PAIRS


@lru_cache(maxsize=100)
def events_total(league_seed: int) -> int:
    """How many events a league has when nothing goes wrong."""
    return SimulatedLeague(seed=league_seed).run().events


def _single(league_seed: int, event: int, kind: CrashKind) -> Scenario:
    return Scenario(
        league_seed,
        agents=Agents(referees_keep_state=kind.keeps_state),
        faults=[Fault(event, kind.kind, kind.who, kind.seconds)],
        trouble_seconds=EXHAUSTIVE_SECONDS,
        history=kind.history,
    )


def _pair(league_seed: int, number: int) -> Scenario:
    """Two crashes of manager and referees; the second often soon after the first."""
    chance = Random(f"pair|{league_seed}|{number}")
    first = chance.randint(1, events_total(league_seed))
    names = [MANAGER, MANAGER, "referee1", "referee2"]
    faults = [
        Fault(event, "crash", (chance.choice(names),), chance.choice((0.01, 0.2, 1.0, 20.0)))
        for event in (first, first + chance.choice(PAIR_GAPS))
    ]
    are_referees = any(fault.who != (MANAGER,) for fault in faults)
    return Scenario(
        league_seed,
        faults=faults,
        trouble_seconds=EXHAUSTIVE_SECONDS,
        history=AWAY if are_referees else LeagueHistory(),
    )
