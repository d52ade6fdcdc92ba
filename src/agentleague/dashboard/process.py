"""The pages of a league in a process of their own, and what `GET /` at a manager says of them.

It imports nothing of the extra: a manager is no larger for its pages, and runs without them. The
child ends when its stdin ends, however the manager ended.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from agentleague.errors import StorageError
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.printable import one_line
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Headers, read_headers
from agentleague.runtime.network import EVERYWHERE
from agentleague.runtime.processes import Running
from agentleague.runtime.state_files import keep_settings
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import JournalPlace
from agentleague.transport.http_response import HttpRequest, Response

NEEDED = ("jinja2", "starlette", "uvicorn")
# The packages, not the extra: an index knows another project by the name of this one.
INSTALL = f"python -m pip install {' '.join(NEEDED)}"
MISSING = (
    "The pages of a league need more packages; add them to the Python of agentleague: "
    f"{INSTALL} (with pipx or uv: docs/how-to/install.md, Extras)"
)
END_SECONDS = 5.0  # that the child may take to end
TAIL_BYTES = 4_096  # of what it said
PLAIN: Headers = [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")]


def has_extra() -> bool:
    """Whether the packages of the extra are installed."""
    return all(find_spec(name) for name in NEEDED)


async def open_pages(
    directory: JournalPlace, port: int, stderr: int | None = None, **options: str
) -> Process:
    """Begin to show a league: a child that prints where, and ends when its stdin does."""
    words, environment = ["dashboard", "--beside", "--port", str(port)], dict(os.environ)
    if isinstance(directory, DatabaseUrl):  # Everybody may see the words, and a password in them.
        environment["LEAGUE_JOURNAL"] = f"{directory.conninfo}#{directory.league_id}"
    else:
        words.append(str(directory))
    for name, value in options.items():
        words += [f"--{name}", value] if value else []
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentleague", *words),
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the league.
    )


async def close_pages(process: Process) -> None:
    """End the child, and wait for its end."""
    assert process.stdin
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        process.kill()


class DashboardProcess:
    """The child of one manager; `url` is where it shows its pages, `why` there are none."""

    def __init__(
        self,
        settings: ManagerSettings,
        directory: JournalPlace,
        say: Callable[[str], None],
        game: str = "",
        kept: Mapping[str, Any] | None = None,  # for the manager's next start; the port is added
    ) -> None:
        self.url, self.why = "", "" if settings.dashboard else "The dashboard is off."
        self._bind, self._port = settings.dashboard_bind, settings.dashboard_port
        self._is_apart, self._kept = settings.is_apart, kept
        self._directory, self._say, self._game = directory, say, game
        self._name = urlsplit(settings.endpoint).hostname or ""
        self._task: asyncio.Task[None] | None = None
        self._process: Process | None = None
        self._is_stopping = False

    def attach(self, running: Running) -> None:
        """Let a manager that is open lead browsers to the pages, and begin to show them."""
        server = running.transport.server
        server.route("/", ("GET",), self._answer)
        server.route("/favicon.ico", ("GET",), lambda request, respond: respond(204, b""))
        if not self.why:
            self._task = asyncio.create_task(self._run())
            running.leaving.append(self.stop)

    async def stop(self) -> None:
        """End the child, and wait for its end."""
        self._is_stopping = True
        if self._process:
            await close_pages(self._process)
        elif self._task:
            self._task.cancel()
        if self._task:
            await asyncio.wait([self._task], timeout=END_SECONDS)

    async def _run(self) -> None:
        if not has_extra():
            self._failed(MISSING)
            return
        options = {"bind": self._bind, "game": self._game, "name": self._name}
        try:
            self._process = process = await open_pages(self._directory, self._port, PIPE, **options)
        except OSError as error:
            self._failed(f"The dashboard cannot be started: {error}")
            return
        assert process.stdout
        assert process.stderr
        last = asyncio.create_task(_last_line(process.stderr))
        self.url = (await process.stdout.readline()).decode().strip()
        if self.url:
            await self._keep_port(urlsplit(self.url).port)  # Before anybody is told of it.
            self._say(f"See it in a browser: {self.url}{self._who_can()}")
        why = (await last).replace("--bind", "--dashboard-bind")  # which the manager calls it
        await process.wait()
        if not self._is_stopping:
            self._failed(f"The dashboard has ended: {why or process.returncode}")

    async def _keep_port(self, port: int | None) -> None:
        """The pages come back where they were: seat links lead there."""
        if self._kept is None:
            return
        wanted = self._kept.get("dashboard_port")
        if wanted and wanted != port:
            self._say(
                f"Port {wanted} is busy, so the pages are at port {port} from now on; links and "
                f"open pages with {wanted} show something else. To have it back, end what listens "
                f"there, and start with: --dashboard-port {wanted}"
            )
        with suppress(StorageError):  # It goes on with a full disk, too.
            kept = {**self._kept, "dashboard_port": port}
            await asyncio.to_thread(keep_settings, self._directory, kept)

    def _failed(self, why: str) -> None:
        self.url, self.why = "", why
        self._say(f"{why}\nWithout pages: --no-dashboard")

    def _who_can(self) -> str:
        if self._is_beyond:
            return "\nThe whole network can see these pages."
        if self._is_apart:
            return "\nOnly this machine can; to show it to others, add: --dashboard-bind 0.0.0.0"
        return ""

    @property
    def _is_beyond(self) -> bool:
        return bool(self._bind) and not is_loopback(self._bind)

    def _answer(self, request: HttpRequest, respond: Response) -> None:
        host = urlsplit(f"http://{read_headers(request.head).get('host', '')}").hostname or ""
        is_here = is_loopback(request.source) and is_loopback(host) and not request.is_forwarded
        if self.why and not is_here:
            respond(404, b"The organiser shows no pages of this league here.\n", PLAIN)
        elif self.why:
            start = f"See the league with: league dashboard {self._directory}"
            respond(404, f"{self.why}\n{start}\n".encode(), PLAIN)
        elif not self.url:
            wait = [("Retry-After", "1"), ("Refresh", "1")]
            respond(503, b"The dashboard is starting.\n", [*PLAIN, *wait])
        elif not is_here and not self._is_beyond:
            respond(
                403, b"The organiser shows the pages of this league on one machine only.\n", PLAIN
            )
        else:
            own = urlsplit(self.url)
            is_any = self._bind in ("", *EVERYWHERE)
            named = (f"[{host}]" if ":" in host else host) if is_any and host else own.hostname
            respond(302, b"", [("Location", f"http://{named}:{own.port}/"), PLAIN[1]])


async def _last_line(stream: asyncio.StreamReader) -> str:
    """What a process said last, when it has ended; however long its lines are, all are read."""
    last = b""
    while part := await stream.read(TAIL_BYTES):
        last = (last + part)[-TAIL_BYTES:]
    lines = last.decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return one_line(said[-1].removeprefix("Error: "), 500) if said else ""
