"""TLS by a reverse proxy: what the page says to type is typed, before a real nginx."""

import http.client
import json
import re
import shutil
import ssl
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import pytest

from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.network import place_of_manager
from commands import BIN, RUNNING, SECONDS, free_port, read_until, started
from dashboard.person import Person
from pages import Page, Terminal

PROGRAMS = "/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin"
PAGE = Page("docs", "how-to", "tls-behind-nginx.md")
SLOW = """
import pathlib, time

def choose(turn):
    pathlib.Path("asked").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return "even"
"""
SEATED = {
    "display_name": "Ann",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": "",
    "seat": True,
}
TWO_MANAGERS = "two managers"
WRAPPED = """
daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {more}
    {configuration}
}}
"""


@pytest.fixture
def terminal(tmp_path, request):
    """A folder with the certificates of the page, and nginx with its configuration and more."""
    for name in ("nginx", "openssl"):
        if shutil.which(name, path=PROGRAMS) is None:
            pytest.skip(f"{name} is not installed; apt-get install nginx-light openssl")
    port = free_port()
    places = {
        "8090": str(free_port()),
        "https://cup.example": f"https://localhost:{port}",
        "listen 443": f"listen 127.0.0.1:{port}",
        "DNS:cup.example": "DNS:localhost",
    }
    terminal = Terminal(tmp_path, **places)
    terminal.tls_port = port
    for line in PAGE.commands_of("A certificate"):
        terminal.type(line)
    configuration, two_managers = PAGE.fences("nginx")
    more = getattr(request, "param", "")
    if more == TWO_MANAGERS:
        more = ""
        terminal.second_port = free_port()
        terminal.replaced["192.168.1.10"] = "127.0.0.1"
        two_managers = two_managers.replace(
            "192.168.1.11:8000", f"127.0.0.1:{terminal.second_port}"
        )
        configuration = re.sub(
            r"upstream manager \{.+?\n\}\n", two_managers, configuration, flags=re.DOTALL
        )
    terminal.save("nginx.conf", WRAPPED.format(configuration=configuration, more=more))
    begin_nginx(tmp_path, port)
    return terminal


def begin_nginx(folder, port):
    nginx = shutil.which("nginx", path=PROGRAMS)
    process = subprocess.Popen(
        [nginx, "-p", folder, "-c", "nginx.conf", "-e", "error.log"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    RUNNING.append(process)
    while not serves(folder, port):
        assert process.poll() is None, (folder / "error.log").read_text()


def serves(folder, port):
    try:
        return bool(asked(folder, port, "localhost"))
    except OSError:
        return False


def asked(folder, port, host, **headers):
    """The status of an answer of the manager, if it is called so."""
    query = {"message_type": "LEAGUE_QUERY", "query_type": "GET_STATUS"}
    return posted(folder, port, "/mcp", query, Host=host, **headers)[0]


def posted(folder, port, path, body, source="", **headers):
    """The status and the text of an answer of the manager."""
    trusted = ssl.create_default_context(cafile=folder / "ca.pem")
    line = http.client.HTTPSConnection(
        "localhost", port, context=trusted, timeout=20, source_address=(source, 0)
    )
    given = {"Content-Type": "application/json", **headers}
    line.request("POST", path, json.dumps(body), given)
    answer = line.getresponse()
    status, text = answer.status, answer.read()
    line.close()
    return status, text


def trust(terminal, export):
    """Type the line that holds for all that is typed after it."""
    name, value = export.removeprefix("export ").split("=")
    terminal.environment[name] = terminal.type(f'printf %s "{value}"')


def test_agents_register_and_play_through_nginx_as_the_page_says(terminal):
    (manager,) = map(terminal.serve, PAGE.commands_of("The manager"))
    export, referee, player, status, start = PAGE.commands_of("Agents")
    trust(terminal, export)
    assert f"the manager is at https://localhost:{terminal.tls_port}/mcp" in manager.heard

    agents = [terminal.serve(line) for line in (referee, player, player)]

    assert "Registered as REF01" in agents[0].heard
    assert "Registered as P02" in agents[2].heard
    assert re.search(r"Players +2\n", terminal.type(status))
    terminal.type("league approve REF01 --dir cup")
    assert "has begun" in terminal.type(start)
    terminal.until(agents[1], "is over")
    rows = json.loads(terminal.type("league standings --dir cup --json --quiet"))
    assert [(row["played"], row["technical_losses"]) for row in rows] == [(1, 0), (1, 0)]


def test_an_agent_without_the_authority_does_not_speak_to_the_manager(terminal):
    terminal.serve(PAGE.commands_of("The manager")[0])
    export, _, _, status, _ = PAGE.commands_of("Agents")

    with pytest.raises(AssertionError, match="its certificate is not trusted"):
        terminal.type(status)
    trust(terminal, export)
    assert "Players   0" in terminal.type(status)


def test_behind_nginx_the_manager_is_called_by_the_name_of_its_end_point_alone(terminal):
    (line,) = PAGE.commands_of("The manager")
    terminal.replaced = {"8000": str(terminal.port)}
    terminal.serve(line)

    def ask(host, **headers):
        return asked(terminal.folder, terminal.tls_port, host, **headers)

    assert ask("cup.example") == 200
    assert ask("evil.example") == 403
    assert ask("cup.example", Origin="https://evil.example") == 403


@pytest.mark.parametrize("terminal", ["proxy_read_timeout 1s;"], indirect=True)
def test_nginx_waits_longer_at_a_seat_than_elsewhere(terminal):
    terminal.serve(PAGE.commands_of("The manager")[0])

    def post(path, body, **headers):
        status, text = posted(terminal.folder, terminal.tls_port, path, body, **headers)
        assert status == 200, (path, status, text)
        return json.loads(text)

    params = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": SEATED}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}
    player = post("/mcp", asked)["result"]
    bearer = {"Authorization": f"Bearer {player['auth_token']}"}
    epoch = post(f"{player['seat']}/open", {}, **bearer)["epoch"]

    poll = {"epoch": epoch, "ack": 0, "wait": 2, "answers": []}
    assert post(f"{player['seat']}/poll", poll, **bearer)["calls"] == []


def test_seats_pages_events_and_a_person_come_through_nginx(terminal, monkeypatch):
    export, referee, player, _, start = PAGE.commands_of("Agents")
    trust(terminal, export)
    monkeypatch.setenv("SSL_CERT_FILE", terminal.environment["SSL_CERT_FILE"])
    terminal.environment["LEAGUE_DASHBOARD"] = "true"
    (line,) = PAGE.commands_of("The manager")
    manager = terminal.serve(f"{line} --dashboard-port {terminal.replaced['8090']} --cycles 1")
    terminal.until(manager, "See it in a browser")
    terminal.serve(referee)
    terminal.type("league approve REF01 --dir cup")
    seated = terminal.serve(f"{player} --outbound")
    ann = Person(f"https://localhost:{terminal.tls_port}")

    assert "Take your seat" in ann.open("/join")
    ann.open("/play/join", {"name": "Ann"}, Origin=ann.url)
    with events(terminal, "/standings") as stream:
        assert "has begun" in terminal.type(start)
        ann.play()
        terminal.until(seated, "is over")
        until_event(stream, '"is_over":true')

    assert [each.secure for each in ann.jar if each.name.startswith("seat_")] == [True]
    agents = json.loads(terminal.type("league agents --dir cup --json --quiet"))
    assert agents[0]["seat"]
    rows = json.loads(terminal.type("league standings --dir cup --json --quiet"))
    assert [row["technical_losses"] for row in rows] == [0, 0]


def wait_for(is_so):
    """Wait until it is so, but not for ever."""
    for _ in range(SECONDS * 50):
        if is_so():
            return
        time.sleep(0.02)
    raise AssertionError(is_so)


@contextmanager
def events(terminal, page):
    """The event stream of a page."""
    url = f"https://localhost:{terminal.tls_port}/events?page={page}"
    with urllib.request.urlopen(url, timeout=SECONDS) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        yield stream


def until_event(stream, words):
    """What the stream says, up to these words: nginx must not hold it back."""
    heard = ""
    while words not in heard and heard.count("still here") < 2:
        heard += stream.readline().decode()
    assert words in heard


def test_who_asks_through_nginx_cannot_say_that_they_are_another(terminal):
    terminal.serve(PAGE.commands_of("The manager")[0])
    forged = {"X-Forwarded-For": "10.9.8.7", "Forwarded": "for=10.9.8.7"}

    posted(terminal.folder, terminal.tls_port, "/mcp", {}, source="127.0.0.2", **forged)

    log = terminal.folder / "cup" / "log" / "manager.jsonl"
    wait_for(lambda: log.exists() and "refused" in log.read_text())
    assert "127.0.0.2: " in log.read_text()
    assert "10.9.8.7" not in log.read_text()


def test_nobody_reads_the_metrics_through_nginx(terminal):
    terminal.serve(PAGE.commands_of("The manager")[0])

    assert posted(terminal.folder, terminal.tls_port, "/metrics", {})[0] == 403


def test_a_manager_that_is_started_again_behind_nginx_costs_nobody_a_match(terminal):
    export, referee, player, _, start = PAGE.commands_of("Agents")
    trust(terminal, export)
    (line,) = PAGE.commands_of("The manager")
    manager = terminal.serve(f"{line} --cycles 1")
    terminal.serve(referee)
    terminal.type("league approve REF01 --dir cup")
    terminal.save("slow.py", SLOW)
    slow = player.replace("--strategy random", "slow.py")
    ann, _ = terminal.serve(slow), terminal.serve(f"{slow} --outbound")
    terminal.type(start)
    wait_for((terminal.folder / "asked").exists)

    manager.kill()
    manager.wait()
    assert asked(terminal.folder, terminal.tls_port, "localhost") == 502
    (terminal.folder / "go").touch()
    again = terminal.serve("league manager --dir cup")

    assert "Resumed in round 1" in again.heard
    terminal.until(ann, "is over")
    rows = json.loads(terminal.type("league standings --dir cup --json --quiet"))
    assert [(row["played"], row["technical_losses"]) for row in rows] == [(1, 0), (1, 0)]


def test_a_league_of_a_service_is_made_and_joined_through_nginx(terminal, database):
    export, _, player, _, _ = PAGE.commands_of("Agents")
    trust(terminal, export)
    terminal.environment["LEAGUE_JOURNAL"] = database
    terminal.environment["LEAGUE_SERVICE_KEY_FILE"] = str(terminal.folder / "service.key")
    key = terminal.type("league organiser add ann --quiet").strip()
    words = (
        "serve --workers 1 --endpoint https://cup.example --trusted-proxies 127.0.0.1 --port 8000"
    )
    started(BIN / "league", *terminal.here(words).split(), env=terminal.environment)
    wait_for(lambda: asked(terminal.folder, terminal.tls_port, "localhost") != 502)

    terminal.environment["LEAGUE_ORGANISER_KEY"] = key
    made = terminal.type("league leagues create --service https://cup.example --quiet")
    league = json.loads(made)
    own = player.replace("/mcp", f"/leagues/{league['league_id']}/mcp")
    terminal.environment["LEAGUE_JOIN_CODE"] = league.get("join_code", "")

    assert "Registered as P01" in terminal.serve(f"{own} --outbound").heard
    path = f"/leagues/{league['league_id']}/metrics"
    assert posted(terminal.folder, terminal.tls_port, path, {})[0] == 403


@pytest.mark.slow  # A lease must run out.
@pytest.mark.parametrize("terminal", [TWO_MANAGERS], indirect=True)
def test_behind_nginx_a_manager_that_stood_by_goes_on_with_the_league(terminal, database):
    export, referee, player, _, _ = PAGE.commands_of("Agents")
    trust(terminal, export)
    terminal.environment["LEAGUE_JOURNAL"] = f"{database}#cup"
    terminal.environment["LEAGUE_SERVICE_KEY_FILE"] = str(terminal.folder / "service.key")
    line = PAGE.commands_of("The manager")[0].replace("--dir cup", "--players 2")
    manager = terminal.serve(line)
    words = f"{line} --standby --port {terminal.second_port}".split()
    waits = started(BIN / words[0], *map(terminal.here, words[1:]), env=terminal.environment)
    terminal.save("slow.py", SLOW)
    slow = player.replace("--strategy random", "slow.py")
    terminal.serve(referee)
    terminal.type("league approve REF01")
    ann, _ = terminal.serve(slow), terminal.serve(f"{slow} --outbound")
    wait_for((terminal.folder / "asked").exists)

    manager.kill()
    (terminal.folder / "go").touch()

    assert "Resumed in round 1" in read_until(waits, "Resumed")
    terminal.until(ann, "is over")
    rows = json.loads(terminal.type("league standings --json --quiet"))
    assert [(row["played"], row["technical_losses"]) for row in rows] == [(1, 0), (1, 0)]


def test_a_manager_behind_a_proxy_is_not_told_to_listen_to_everybody():
    said = []

    settings = ManagerSettings(endpoint="https://cup.example/mcp", network="lan")
    place = place_of_manager(settings, said.append)

    assert said == []
    assert "cup.example" in place.names
    assert all(host in ("127.0.0.1", "::1") for host in place.hosts)
