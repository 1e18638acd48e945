"""What only a server has: connections that end, a database that comes from a file and goes back, VACUUM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from core_kit import NO_MAP, Clock, Tools, call, memory_of, stored
from sqlalchemy import create_engine, make_url, text
from test_sql import POSTGRES, postgres_schema

from btm.store import upkeep
from btm.store.dump import lines, read_into
from btm.store.sql import SqlStore

pytestmark = pytest.mark.skipif(not POSTGRES, reason="BTM_TEST_POSTGRES names no PostgreSQL database")


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_schema() as made:
        yield made


def failing(conversation: str, number: int) -> tuple[object, object]:
    return call("get_order", f"{conversation}{number}", order_id="o1"), Tools(
        get_order=[TimeoutError("timed out")]
    )


def test_connections_that_the_server_ends_lose_nothing(url: str) -> None:
    engine = create_engine(POSTGRES)
    ended = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name")
    mine = f"{url}&application_name=btm_{os.getpid()}"
    with memory_of(Clock(), path=mine, fallback_map=NO_MAP) as memory:
        for number in range(30):
            memory.call(*failing("talk", number))  # type: ignore[arg-type]
            if number % 10 == 5:
                with engine.begin() as connection:
                    connection.execute(ended, {"name": f"btm_{os.getpid()}"})
        assert any(memory.flush() for _ in range(20))
        health = memory.health()
        assert (health.waiting, health.dropped) == (0, 0)
    engine.dispose()
    store = SqlStore(url)
    assert upkeep.info(store).rows["calls"] == 30
    store.close()


def test_a_server_that_is_out_of_reach_at_first_gets_what_was_learned_when_it_is_there(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = make_url(url)
    folder = asked.query.get("host")
    if not isinstance(folder, str) or not folder.startswith("/"):
        pytest.skip("BTM_TEST_POSTGRES is no server behind a Unix socket")
    later = tmp_path / "s"
    moved = asked.update_query_dict({"host": str(later)}).render_as_string(hide_password=False)
    with memory_of(Clock(), path=moved, fallback_map=NO_MAP) as memory:
        assert "what is learned waits until it can be" in caplog.text
        memory.call(*failing("talk", 0))  # type: ignore[arg-type]
        assert not memory.flush()
        later.symlink_to(folder)
        assert any(memory.flush() for _ in range(20))
    store = SqlStore(url)
    assert upkeep.info(store).rows["calls"] == 1
    store.close()


def test_a_database_goes_from_a_file_to_a_server_and_back(url: str, tmp_path: Path) -> None:
    with memory_of(Clock(), path=tmp_path / "a.db", fallback_map=NO_MAP) as memory:
        for number in range(5):
            memory.call(*failing("talk", number))  # type: ignore[arg-type]
            memory.call(call("get_order", f"talk{number}", order_id="o1"), Tools(get_order=["fine"]))
    source = SqlStore(tmp_path / "a.db")
    read_into(url, lines(source, with_key=True))
    server = SqlStore(url)
    read_into(str(tmp_path / "b.db"), lines(server, with_key=True))
    again = SqlStore(tmp_path / "b.db")
    assert stored(source) == stored(server) == stored(again)
    assert len({s.secret for s in (source, server, again)}) == 1
    for store in (source, server, again):
        store.close()


def test_a_server_forgets_too(url: str) -> None:
    with memory_of(Clock(), path=url, fallback_map=NO_MAP) as memory:
        for number in range(3):
            memory.call(*failing("talk", number))  # type: ignore[arg-type]
    store = SqlStore(url)
    assert upkeep.problems(store) == []
    assert upkeep.forget(store, conversation="talk1")["calls"] == 1
    assert upkeep.forget(store, tool="get_order")["calls"] == 2
    assert upkeep.info(store).rows["calls"] == 0
    assert upkeep.info(store).bytes > 0
    store.close()
