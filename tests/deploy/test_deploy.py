"""What deploy/ holds: linted, and run as far as that goes without systemd and without Docker."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from commands import BIN, ROOT, SECONDS, environment, free_port, league, read_until, run, started
from pages import Page
from postgres_server import PASSWORD

DEPLOY, LINTERS = ROOT / "deploy", ROOT / ".venv-deploy" / "bin"
UNITS = sorted(path.name for path in DEPLOY.glob("*.service"))
PAGE = Page("docs", "how-to", "operate.md")
HERE = {"/opt/agentleague/bin": str(BIN), "%i": "cup"}
READ_YAML = """
import json, sys
from ruamel.yaml import YAML
print(json.dumps(YAML(typ="safe").load(sys.stdin)))
"""


def linter(name):
    if not (LINTERS / name).exists():
        pytest.skip("the linters are not installed; make .venv-deploy/ready")
    return LINTERS / name


def passes(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def replaced(text, places):
    for shown, here in places.items():
        text = text.replace(shown, str(here))
    return text


@pytest.mark.parametrize("name", UNITS)
def test_systemd_takes_the_unit_and_finds_little_exposed(name, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed; apt-get install systemd")
    unit = tmp_path / name
    unit.write_text(
        replaced((DEPLOY / name).read_text(), {"/opt/agentleague/bin/league": "/bin/true"})
    )

    passes("systemd-analyze", "verify", "--man=no", unit)
    passes("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)


def command_of(name, folder):
    """What a unit starts, and the variables that it has of the unit itself."""
    text = replaced((DEPLOY / name).read_text(), {**HERE, "/var/lib/agentleague": folder})
    (line,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    return line.split(), variables("\n".join(re.findall(r"^Environment=(.+)$", text, re.MULTILINE)))


def variables(text):
    return dict(each.split("=", 1) for each in text.split())


def test_what_the_unit_starts_stops_cleanly_and_goes_on(tmp_path):
    """It says SIGTERM to the manager alone, as KillMode=mixed does, and starts it again."""
    words, _ = command_of("agentleague@.service", tmp_path)
    given = variables(PAGE.fences("ini")[0])
    given |= {"LEAGUE_PORT": str(free_port()), "LEAGUE_DASHBOARD": "true"}
    given |= {"LEAGUE_DASHBOARD_PORT": str(free_port())}
    env = {**environment(), **given}

    names = set()
    for _ in range(2):
        manager = started(*words, env=env)
        names.add(read_until(manager, "See it in a browser").split(":")[0])
        manager.send_signal(signal.SIGTERM)
        _, last = manager.communicate(timeout=SECONDS)
        assert manager.returncode == 0, last

    assert len(names) == 1
    assert "all is true so far" in league("verify", tmp_path / "cup").stdout


@pytest.mark.parametrize(
    ("name", "fence", "said"),
    [
        ("agentleague-postgres@.service", 1, "cup: the manager is at"),
        ("agentleague-serve.service", 2, "The service is at"),
    ],
)
def test_what_the_units_on_postgresql_start_goes_on_too(name, fence, said, tmp_path, database):
    words, own = command_of(name, tmp_path)
    given = variables(PAGE.fences("ini")[fence])
    _, hash_mark, league_id = given["LEAGUE_JOURNAL"].partition("#")
    given["LEAGUE_JOURNAL"] = database.replace(f":{PASSWORD}@", "@") + hash_mark + league_id
    given |= {"LEAGUE_PORT": str(free_port()), "PGPASSWORD": PASSWORD, "LEAGUE_DASHBOARD": "false"}
    env = {**environment(), **own, **given}

    for _ in range(2):
        process = started(*words, env=env)
        read_until(process, said)
        process.send_signal(signal.SIGTERM)
        _, last = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, last
    assert (tmp_path / "state" / "service.key").exists()

    for wrong, why in (
        ({"PGPASSWORD": "wrong-secret"}, "check user and password"),
        ({"LEAGUE_STATE": str(tmp_path / "other")}, "the service key of"),
    ):
        done = run(words, env={**env, **wrong})
        assert done.returncode == 2, done.stderr  # RestartPreventExitStatus
        assert why in done.stderr


def test_hadolint_finds_nothing_in_the_dockerfile():
    assert passes(linter("hadolint"), DEPLOY / "Dockerfile") == ""


def test_the_compose_file_is_one():
    passes(
        linter("check-jsonschema"), "--builtin-schema=vendor.compose-spec", DEPLOY / "compose.yaml"
    )


@pytest.fixture
def services(tmp_path, database):
    """The services of compose.yaml, their secrets, and how to start one without a container."""
    text = (DEPLOY / "compose.yaml").read_text()
    compose = json.loads(passes(linter("python"), "-c", READ_YAML, input=text))
    ports = {"8000": free_port(), "8001": free_port()}
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for number, name in enumerate(compose["secrets"]):
        (secrets / name).write_text(f"tipuf-sajil-gikop{number}\n")
    (secrets / "database_password").write_text(f"{PASSWORD}\n")
    places = {"/var/lib/agentleague": tmp_path}
    places["postgresql://league@database/league"] = database.replace(f":{PASSWORD}@", "@")
    places |= {"0.0.0.0": "127.0.0.1", "//manager:": "//127.0.0.1:", **ports}

    def start(name, **more):
        service = compose["services"][name]
        given = {key: replaced(text, places) for key, text in service["environment"].items()}
        path = f"{DEPLOY}:{BIN}:{os.environ['PATH']}"
        env = {**environment(), "PATH": path, "SECRETS": str(secrets), **given, **more}
        words = [*service["entrypoint"], *service["command"]]
        return started(*words, env=env, cwd=tmp_path), service, places

    return start


def check_health(service, places):
    check = [replaced(each, places) for each in service["healthcheck"]["test"][1:]]
    passes(sys.executable, *check[1:])
    assert service["environment"]["LEAGUE_BIND"] == "0.0.0.0"  # It is asked at 127.0.0.1.


def test_the_commands_of_the_compose_file_play_a_league(services, database, tmp_path):
    here = {"LEAGUE_NETWORK": "local", "LEAGUE_DASHBOARD": "false"}  # All of it is one machine.
    sizes = {"LEAGUE_PLAYERS": "2", "LEAGUE_REFEREES": "2"}
    manager, service, places = services("manager", **here, **sizes)
    read_until(manager, "Stop with Ctrl-C")
    check_health(service, places)

    for state, port in (("one", {}), ("two", {"LEAGUE_PORT": "0"})):
        referee, service, _ = services("referee", LEAGUE_STATE=str(tmp_path / state), **port)
        assert "Registered as" in read_until(referee, "Registered as")
        check_health(service, places)
    code = {"LEAGUE_JOIN_CODE": (tmp_path / "secrets" / "join_code").read_text().strip()}
    for name in ("Ann", "Bob"):
        words = ("player", "--strategy", "random", "--name", name, "--port", "0")
        env = {**environment(), **code, "LEAGUE_MANAGER": str(places["8000"])}
        started(BIN / "league", *words, env=env)

    read_until(manager, "is the champion")
    manager.send_signal(signal.SIGTERM)
    manager.communicate(timeout=SECONDS)
    assert manager.returncode == 0
    again, *_ = services("manager", **here, **sizes)
    read_until(again, "is over")
    assert (tmp_path / "service.key").stat().st_mode & 0o077 == 0
    key = {"LEAGUE_SERVICE_KEY_FILE": str(tmp_path / "service.key")}
    done = run([BIN / "league", "verify"], env={**environment(), **key, "LEAGUE_JOURNAL": database})
    assert "1 of 1 match is decided, each once" in done.stdout, done.stderr


@pytest.mark.slow  # It installs 29 packages.
def test_the_commands_of_the_dockerfile_install_a_league_that_runs(tmp_path):
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "")
    build, image = text.split("\nFROM ")[-2:]
    opened = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().split()}
    context, home = tmp_path / "build", tmp_path / "agentleague"
    context.mkdir()
    for line in re.findall(r"^(COPY|RUN) (.+)$", build, re.MULTILINE):
        kind, words = line
        if kind == "RUN":
            command = words.replace("/opt/agentleague", str(home)).replace(
                "python ", f"{sys.executable} "
            )
            subprocess.run(["sh", "-c", command], cwd=context, check=True, timeout=250)
        else:
            *files, to = words.split()
            for name in files:
                assert name in opened
                target = (
                    context / to / name if to.endswith("/") and "/" not in name else context / name
                )
                target.parent.mkdir(exist_ok=True)
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, target)

    (words,) = re.findall(r"^CMD (.+)$", image, re.MULTILINE)
    words = [each.replace("/var/lib/agentleague", str(tmp_path)) for each in json.loads(words)]
    words = [each.replace("0.0.0.0", "127.0.0.1") for each in words]
    ports = ("--port", free_port(), "--dashboard-port", free_port(), "--dashboard")
    env = {key: text for key, text in environment().items() if not key.startswith("PYTHON")}
    manager = started(home / "bin" / "league", *words, *ports, env=env)

    assert "127.0.0.1" in read_until(manager, "See it in a browser")
    passes(home / "bin" / "python", "-c", "import psycopg, cryptography")
