"""The pages of a league over real HTTP: what is there, what is refused, and what stays current."""

import asyncio
import gzip
import json
import sqlite3
import zlib

import pytest

from agentleague.dashboard import app, live_pages, person, serving
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES, Page
from agentleague.errors import LeagueError, StorageError
from agentleague.storage.copying import copy_league
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.sqlite import SqliteJournal
from commands import BIN, free_port, read_until, started
from dashboard.served import SECONDS, served
from records.journals import LEAGUE_ID, played, written

POLICY = app.HEADERS["Content-Security-Policy"]


def run(directory, work, **options):
    async def main():
        async with asyncio.timeout(2 * SECONDS), served(directory, **options) as pages:
            return await work(pages)

    return asyncio.run(main())


@pytest.fixture
def cup(tmp_path):
    return written(tmp_path / "cup", played())


@pytest.fixture
def page(monkeypatch):
    """Add a page that shows whatever a test wants."""

    def add(path, facts):
        # It has the template of the overview, so that it needs no file.
        shown = Page("overview", path, "Test", facts)
        monkeypatch.setitem(PAGES, path, shown)

    return add


def test_a_page_shows_the_league_and_its_twin_says_the_same_as_json(cup):
    async def look(pages):
        return await pages.get("/"), await pages.get("/index.json")

    html, twin = run(cup, look)

    assert (html.status, twin.status) == (200, 200)
    assert LEAGUE_ID in html.text
    assert "The league is over" in html.text
    assert (twin.json["decided"], twin.json["matches"]) == (6, 6)


def test_pages_stay_while_the_database_of_their_league_is_away(cup, own_postgres, monkeypatch):
    monkeypatch.setenv("LEAGUE_SERVICE_KEY_FILE", str(cup / "service.key"))
    server = own_postgres()
    server.execute("CREATE DATABASE cups OWNER league")
    url = DatabaseUrl.parse(server.url(f"cups#{LEAGUE_ID}"))
    copy_league(cup, url)

    async def look(pages):
        before = await pages.get("/")
        await asyncio.to_thread(server.stop)
        manager = await asyncio.to_thread(pages.following.manager_url)
        return before, manager, await pages.get("/")

    before, manager, after = run(url, look)

    assert (before.status, manager, after.status) == (200, "", 200)
    assert "The league is over" in after.text


def test_every_answer_forbids_what_a_page_does_not_need(cup):
    paths = ["/", "/index.json", "/static/style.css", "/health", "/favicon.ico", "/nothing"]

    async def look(pages):
        refused = await pages.get("/", Host="stranger.example")
        return [*[await pages.get(path) for path in paths], refused]

    for answer in run(cup, look):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "cache-control" in answer.headers


def test_a_fault_of_ours_is_a_page_that_says_so_and_is_guarded_too(cup, page):
    def fail(view, params):
        raise ZeroDivisionError

    page("/broken", fail)

    async def look(pages):
        return await pages.get("/broken"), await pages.get("/broken.json"), await pages.get("/")

    html, twin, other = run(cup, look)

    assert (html.status, twin.status, other.status) == (500, 500, 200)
    assert "a fault of the dashboard" in html.text
    assert "ZeroDivisionError" not in html.text
    assert html.headers["content-security-policy"] == POLICY
    assert "fault" in twin.json["error"]


def test_what_is_not_there_says_what_is(cup, page):
    def unknown(view, params):
        raise LeagueError(f"there is no match {params['match_id']}; there are R1M1 to R3M2")

    def unreadable(view, params):
        raise StorageError("the disk is gone")

    page("/one/{match_id}", unknown)
    page("/disk", unreadable)

    async def look(pages):
        paths = ["/one/R9", "/one/R9.json", "/disk", "/nothing"]
        return [await pages.get(path) for path in paths]

    match, twin, disk, nothing = run(cup, look)

    assert (match.status, twin.status, disk.status, nothing.status) == (404, 404, 500, 404)
    assert "There is no match R9; there are R1M1 to R3M2" in match.text
    assert twin.json == {"error": "there is no match R9; there are R1M1 to R3M2"}
    assert "The disk is gone" in disk.text
    assert "There is nothing at /nothing" in nothing.text
    assert '<a href="/">Begin at the overview</a>' in nothing.text
    assert "live.js" not in nothing.text  # No stream would ever answer it.


def test_a_page_without_a_form_for_a_wall_leads_to_one_that_has_it(cup):
    async def look(pages):
        return await pages.get("/cross-table?projector"), await pages.get("/standings?projector")

    cross_table, standings = run(cup, look)

    assert (cross_table.status, cross_table.headers["location"]) == (303, "/?projector=")
    assert standings.status == 200


@pytest.mark.parametrize(
    ("url", "shown"),
    [("http://10.0.0.9:8090/", ">http://10.0.0.9:8090/</b>"), ("http://127.0.0.1:8090/", ">/</b>")],
)
def test_a_wall_shows_the_address_that_others_type(cup, url, shown):
    assert shown in run(cup, lambda pages: pages.get("/?projector"), url=url).text


def test_only_who_calls_this_machine_by_name_or_address_is_served(cup):
    async def look(pages):
        hosts = ["localhost:8090", "[::1]:8090", "10.0.0.7", "desk.local", "evil.example", "a b"]
        answers = [await pages.get("/", Host=host) for host in hosts]
        origins = ["http://evil.example", "null", "http://[", f"http://127.0.0.1:{pages.port}"]
        return [*answers, *[await pages.get("/", Origin=each) for each in origins]]

    statuses = [answer.status for answer in run(cup, look, names=frozenset({"desk.local"}))]

    assert statuses == [200, 200, 200, 200, 403, 403, 403, 403, 403, 200]


def test_only_questions_of_bounded_length_are_taken(cup):
    async def look(pages):
        head = await pages.get("/", method="HEAD")
        post = await pages.get("/", method="POST")
        return head, post, await pages.get(f"/?{'q' * app.TARGET_BYTES_MAX}")

    head, post, long = run(cup, look)

    assert (head.status, post.status, long.status) == (200, 405, 414)
    assert set(post.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_a_form_that_does_not_come_to_its_end_is_not_waited_for(cup, monkeypatch):
    monkeypatch.setattr(person, "BODY_SECONDS", 0.05)

    async def look(pages):
        sent = {"Content-Length": "100", "Accept": "application/json"}
        return await pages.get("/play/move", method="POST", **sent)

    answer = run(cup, look)

    assert answer.status == 409
    assert "no JSON" in answer.json["problem"]


def test_static_files_are_asked_for_again_and_not_sent_again(cup):
    async def look(pages):
        first = await pages.get("/static/style.css")
        again = await pages.get("/static/style.css", **{"If-None-Match": first.headers["etag"]})
        return first, again, await pages.get("/static/../app.py")

    first, again, outside = run(cup, look)

    assert (first.status, again.status, outside.status) == (200, 304, 404)
    assert first.headers["cache-control"] == "no-cache"
    assert again.text == ""


def test_pages_are_compressed_for_who_can_read_it(cup):
    async def look(pages):
        reader, writer = await asyncio.open_connection("127.0.0.1", pages.port)
        head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\nConnection: close"
        writer.write(head + b"\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n\r\n")

    head, _, body = run(cup, look)

    assert b"content-encoding: gzip" in head.lower()
    assert b"</main>" in gzip.decompress(body)


def test_an_open_page_is_told_what_changes_and_only_that(tmp_path):
    events = played()
    begun = next(n for n, event in enumerate(events) if type(event).__name__ == "MatchDecided")
    journal = SqliteJournal(tmp_path, lambda: 1_763_200_800.0, lambda call: call())
    journal.claim(LEAGUE_ID)
    journal.append(LEAGUE_ID, 0, events[:begun], lambda rows: None)

    async def look(pages):
        await pages.until("/", "The league began")
        told = []
        async with pages.events("/") as stream:
            async for kind, data in stream:
                told.append((kind, data))
                if kind == "page" and "The league is over" in data:
                    break
                if len(told) == 2:
                    journal.append(LEAGUE_ID, begun, events[begun:], lambda rows: None)
        return told

    told = run(tmp_path, look)
    journal.close()

    assert [kind for kind, _ in told][:2] == ["state", "page"]
    assert json.loads(told[0][1])["is_over"] is False
    assert any(kind == "state" and json.loads(data)["is_over"] for kind, data in told)
    assert len(told) == len(set(told))
    assert "<html" not in told[1][1]
    assert told[1][1].startswith('<div id="notices"')


def test_a_page_is_made_once_for_all_who_look_at_it(cup, page):
    made = []

    def count(view, params):
        made.append(params)
        return PAGES["overview"].facts(view, params)

    page("/counted", count)

    async def look(pages):
        await pages.until("/", "The league is over")
        async with pages.events("/counted") as one, pages.events("/counted") as other:
            first, second = [[await anext(stream) for _ in "12"] for stream in (one, other)]
        await pages.get("/counted")
        return first, second

    first, second = run(cup, look)

    assert first == second
    assert len(made) == 1


def test_events_are_compressed_for_who_can_read_it(cup):
    async def look(pages):
        reader, writer = await asyncio.open_connection("127.0.0.1", pages.port)
        head = b"GET /events?page=/ HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n"
        writer.write(head)
        answer = await reader.readuntil(b"\r\n\r\n")
        text, packing = b"", zlib.decompressobj(zlib.MAX_WBITS | 16)
        async with asyncio.timeout(SECONDS):
            while b"event: page" not in text or not text.endswith(b"\n\n"):
                text += packing.decompress(await reader.read(65_536))
        writer.close()
        return answer, text

    head, text = run(cup, look)

    assert b"content-encoding: gzip" in head.lower()
    assert text.startswith(b"retry: 2000\n\nevent: state\n")


def test_a_stream_ends_when_its_reader_leaves_and_there_are_not_too_many(cup, monkeypatch):
    monkeypatch.setattr(app, "STREAMS_MAX", 1)

    async def look(pages):
        async with pages.events("/") as stream:
            await anext(stream)
            refused = await pages.get("/events?page=/")
        async with asyncio.timeout(SECONDS):
            while pages.dashboard.live.streams:  # noqa: ASYNC110 (Nobody tells.)
                await asyncio.sleep(0.01)
        async with pages.events("/") as stream:
            await anext(stream)
        return refused, await pages.get("/events?page=/nothing")

    refused, nothing = run(cup, look)

    assert (refused.status, refused.headers["retry-after"]) == (503, "10")
    assert nothing.status == 404


def test_of_many_streams_that_are_asked_for_at_once_no_more_are_opened(cup, monkeypatch):
    monkeypatch.setattr(app, "STREAMS_MAX", 3)

    async def look(pages):
        opened = [await asyncio.open_connection("127.0.0.1", pages.port) for _ in range(30)]
        for _, writer in opened:
            writer.write(b"GET /events?page=/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        heads = [await reader.readuntil(b"\r\n") for reader, _ in opened]
        for _, writer in opened:
            writer.close()
        return heads

    heads = run(cup, look)

    assert sorted(head.split()[1] for head in heads) == [b"200"] * 3 + [b"503"] * 27


def test_a_silent_stream_says_that_it_is_still_there(cup, monkeypatch):
    monkeypatch.setattr(live_pages, "HEARTBEAT_SECONDS", 0.05)

    async def look(pages):
        reader, writer = await asyncio.open_connection("127.0.0.1", pages.port)
        writer.write(b"GET /events?page=/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b": still here\n\n"), SECONDS)
        writer.close()

    run(cup, look)


def test_a_directory_without_a_league_waits_for_it(tmp_path):
    async def look(pages):
        before, twin = await pages.get("/"), await pages.get("/index.json")
        written(tmp_path / "cup", played())
        return before, twin, await pages.until("/", "The league is over")

    (tmp_path / "cup").mkdir()
    before, twin, after = run(tmp_path / "cup", look)

    assert (before.status, twin.status, after.status) == (503, 503, 200)
    assert "No league has begun" in before.text
    assert before.headers["refresh"] == "2"
    assert "league manager --dir" in twin.json["error"]


def test_a_damaged_journal_says_where_and_shows_what_is_before_it(cup):
    with sqlite3.connect(cup / "journal.sqlite") as connection:
        connection.execute("UPDATE rows SET body = '{}' WHERE seq = 20")
    connection.close()

    async def look(pages):
        return await pages.until("/", "is damaged"), await pages.get("/health")

    shown, health = run(cup, look)

    assert shown.status == 200
    assert "row 20" in shown.text
    assert "league repair" in shown.text
    assert health.status == 503


def test_a_row_that_we_cannot_show_costs_no_page(cup, monkeypatch):
    taken = LeagueView.take

    def fail(view, row):
        if row.seq == 20:
            raise ZeroDivisionError
        taken(view, row)

    monkeypatch.setattr(LeagueView, "take", fail)

    shown = run(cup, lambda pages: pages.until("/", "By a fault of the dashboard"))

    assert "after row 19" in shown.text


def test_a_manager_that_is_away_is_said_while_the_league_is_not_over(tmp_path):
    events = played()
    unfinished = written(tmp_path / "cup", events[: len(events) // 2])

    def shown(words, **options):
        return run(unfinished, lambda pages: pages.until("/", words), **options).text

    assert "league manager --dir" in shown("No manager runs here; the last row was written at")
    nobody = f"http://127.0.0.1:{free_port()}/mcp"
    assert "since" in shown(f"The manager at {nobody} has not answered", manager_url=nobody)


def test_a_manager_that_plays_another_league_is_said_and_not_mixed_with_this_one(tmp_path):
    earlier = written(tmp_path / "earlier", played()[:8])
    port = free_port()
    process = started(BIN / "league", "manager", "--dir", tmp_path / "cup", "--port", port)
    read_until(process, "Waiting for")

    async def look(pages):
        shown = await pages.until("/", "plays another league, league_")
        return shown.text, pages.following.view.live

    shown, live = run(earlier, look, manager_url=f"http://127.0.0.1:{port}/mcp")

    assert "start the dashboard again" in shown
    assert live == {}


def test_what_the_manager_says_is_live_reaches_the_pages_while_somebody_looks(tmp_path):
    words = ["manager", "--dir", tmp_path / "cup", "--port", "0"]
    process = started(BIN / "league", *words)
    read_until(process, "Waiting for")

    async def look(pages):
        view = pages.following.view
        assert view.live == {}
        async with pages.events("/") as stream:
            await pages.get("/")
            first = view.live
            process.kill()
            async for kind, data in stream:
                if kind == "state" and "No manager runs here" in data:
                    return first, view.live
        raise AssertionError("the stream ended")

    first, last = run(tmp_path / "cup", look)

    assert first["league_id"]
    assert last == {}


def test_who_never_asks_is_not_waited_for(cup, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.05)

    async def look(pages):
        reader, writer = await asyncio.open_connection("127.0.0.1", pages.port)
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        silence = await asyncio.wait_for(reader.read(), SECONDS)
        writer.close()
        return silence

    assert run(cup, look) == b""


def test_what_the_end_cuts_off_is_no_fault(cup, caplog):
    async def main():
        async with served(cup) as pages:
            known = (await pages.get("/play/state")).json["version"]
            _, writer = await asyncio.open_connection("127.0.0.1", pages.port)
            path = f"/play/state?version={known}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{pages.port}\r\n\r\n".encode())
            await pages.get("/")  # So the question before it has arrived.
        writer.close()

    asyncio.run(main())

    assert caplog.text == ""
