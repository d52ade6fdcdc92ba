"""A league is copied between directories and databases: every row as it is, whole or not at all."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from agentleague.errors import Claimed, Damaged, StorageError
from agentleague.roles.ports import Row
from agentleague.storage import copying
from agentleague.storage.copying import KEPT, copy_league
from agentleague.storage.database import ask
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import JournalPlace, leagues_in, open_journal, open_reader
from agentleague.storage.head import read_heads
from agentleague.storage.kept import KEY_VARIABLE, read_kept
from league.decisions import LEAGUE_ID
from records.journals import played, written

LEAGUE = played()


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    directory: Path = written(tmp_path / "cup", LEAGUE)
    for name in KEPT:
        (directory / name).write_text(f"what {name} holds")
    return directory


@pytest.fixture
def url(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DatabaseUrl:
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "service.key"))
    return DatabaseUrl.parse(database)


def rows_in(place: JournalPlace) -> list[Row]:
    return [*open_reader(place).read(LEAGUE_ID)]


def kept_in(place: JournalPlace) -> dict[str, bytes | None]:
    return {name: read_kept(place, name) for name in KEPT}


def add_row(place: JournalPlace) -> None:
    with closing(open_journal(place, lambda: 0.0, lambda call: call())) as journal:
        head = journal.claim(LEAGUE_ID)
        journal.append(LEAGUE_ID, head.seq, LEAGUE[-1:], lambda rows: None)


def test_a_league_goes_to_a_database_and_back_byte_for_byte(
    cup: Path, url: DatabaseUrl, tmp_path: Path
) -> None:
    there = copy_league(cup, url, moves=True)
    back = copy_league(url, tmp_path / "back", moves=True)

    assert (there, back) == (url.of(LEAGUE_ID), tmp_path / "back")
    assert len(rows_in(cup)) == len(LEAGUE)
    assert rows_in(cup) == rows_in(there) == rows_in(back)
    assert kept_in(cup) == kept_in(there) == kept_in(back)
    assert not any(b"holds" in data for (data,) in ask(url, "SELECT data FROM agentleague.kept"))
    for left, gone in ((cup, there), (there, back)):
        with pytest.raises(Claimed, match=r"was moved to .*; go on with it there") as refused:
            copy_league(left, tmp_path / "elsewhere")
        assert str(gone) in str(refused.value)
        assert "sesame" not in str(refused.value)


def test_a_league_comes_back_to_places_that_it_left_with_what_was_decided_meanwhile(
    cup: Path, url: DatabaseUrl, tmp_path: Path
) -> None:
    (cup / "log").mkdir()
    shutil.copytree(cup, tmp_path / "fork")
    there = copy_league(cup, url, moves=True)
    away = copy_league(there, tmp_path / "away", moves=True)
    add_row(away)

    copy_league(away, url, moves=True)

    assert len(rows_in(there)) == len(LEAGUE) + 1
    assert read_kept(there, "moved") is None
    with pytest.raises(Claimed, match="was moved to"):
        copy_league(away, tmp_path / "elsewhere")
    add_row(there)
    assert copy_league(there, cup, moves=True) == cup
    assert rows_in(cup) == rows_in(there)
    assert len(rows_in(cup)) == len(LEAGUE) + 2
    assert read_heads(cup)[LEAGUE_ID].seq == len(LEAGUE) + 2
    assert (cup / "log").exists()
    with closing(open_journal(cup, lambda: 0.0, lambda call: call())) as journal:
        assert journal.claim(LEAGUE_ID).seq == len(LEAGUE) + 2
    with pytest.raises(Claimed, match=f"league_id = '{LEAGUE_ID}' AND name = 'moved'"):
        copy_league(there, tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="they are two; nothing was copied"):
        copy_league(tmp_path / "fork", url, moves=True)
    copy_league(cup, url, moves=True)  # With nothing new.
    with pytest.raises(StorageError, match="is there already; nothing was copied"):
        copy_league(tmp_path / "fork", url, moves=True)
    assert read_kept(tmp_path / "fork", "moved") is None


def test_while_a_manager_owns_a_league_in_a_database_it_is_copied_but_not_moved(
    cup: Path, url: DatabaseUrl, tmp_path: Path
) -> None:
    there = copy_league(cup, url)
    with closing(open_journal(there, lambda: 0.0, lambda call: call())) as journal:
        journal.claim(LEAGUE_ID)

        copy_league(there, tmp_path / "copy")
        with pytest.raises(Claimed):
            copy_league(there, tmp_path / "moved", moves=True)

    assert rows_in(tmp_path / "copy") == rows_in(cup)
    assert not (tmp_path / "moved").exists()


def test_what_ends_in_the_middle_leaves_the_league_where_it_was(
    cup: Path, url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Damage:
        def __init__(self, place: JournalPlace) -> None:
            self._reader = open_reader(place)
            self.damage, self.leagues = self._reader.damage, self._reader.leagues

        def read(self, league_id: str) -> object:
            yield from [*self._reader.read(league_id)][:10]
            raise Damaged("row 11 cannot be read")

    with monkeypatch.context() as patched:
        patched.setattr(copying, "open_reader", Damage)
        with pytest.raises(Damaged, match="row 11"):
            copy_league(cup, url, moves=True)

    assert leagues_in(url) == []
    assert read_kept(cup, "moved") is None
    assert rows_in(copy_league(cup, url, moves=True)) == rows_in(cup)


def test_of_several_leagues_one_is_named(cup: Path, url: DatabaseUrl, tmp_path: Path) -> None:
    copy_league(cup, url)
    with closing(open_journal(url, lambda: 0.0, lambda call: call())) as journal:
        journal.claim("other")
        journal.append("other", 0, LEAGUE[:1], lambda rows: None)

    with pytest.raises(StorageError, match=f"several leagues; .*#{LEAGUE_ID}, #other"):
        copy_league(url, tmp_path / "copy")
    copy_league(url.of(LEAGUE_ID), tmp_path / "copy")

    assert rows_in(tmp_path / "copy") == rows_in(cup)


def test_a_league_keeps_its_name(cup: Path, url: DatabaseUrl) -> None:
    with pytest.raises(StorageError, match=f"the league is called {LEAGUE_ID}; leave #other out"):
        copy_league(cup, url.of("other"), moves=True)
