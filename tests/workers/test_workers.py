"""Worker processes of gunicorn, Celery and Ray: each learns into the one database, and nothing is lost when they end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_all_start_methods
from pathlib import Path

import pytest

from btm.store.sql import SqlStore

FROZEN_S = float(os.environ.get("BTM_FROZEN_S", "0.5"))
"""How long a function is frozen between requests, in seconds."""
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
pytestmark = pytest.mark.xdist_group("workers")


def need(package: str) -> pytest.MarkDecorator:
    """Skip where a package is absent: some of them are half a gigabyte."""
    return pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}: pip install {package}")


def variables(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(HERE), str(ROOT)])
    return {
        **os.environ,
        "PYTHONPATH": path,
        "BTM_TEST_DATABASE": str(folder / "btm.db"),
        "HOME": str(folder),
    }


def ran(
    arguments: list[str], folder: Path, timeout_s: float = 180, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder until it ends."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**variables(folder), **more},
        timeout=timeout_s,
        check=False,
    )


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a folder, and end it as its own supervisor would."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=variables(folder), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def learned(folder: Path) -> tuple[int, int]:
    """Return how many calls and how many recoveries the database holds."""
    store = SqlStore(folder / "btm.db")
    try:
        return len(store.log("calls")), sum(row["success"] for row in store.log("attempts"))
    finally:
        store.close()


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def answer(url: str, folder: Path) -> str:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return str(reply.read().decode())
        except (ConnectionError, urllib.error.URLError):
            time.sleep(0.2)
    raise AssertionError((folder / "log").read_text())


@need("gunicorn")
@pytest.mark.parametrize("preload", [True, False], ids=["preloaded", "each by itself"])
def test_gunicorns_workers_learn_into_one_database(tmp_path: Path, preload: bool) -> None:
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "gunicorn", "web_app:app", "--workers", "2", "--bind", address]
    with running([*command, *(["--preload"] if preload else [])], tmp_path) as server:
        answers = [answer(f"http://{address}/o{number}", tmp_path) for number in range(40)]
        workers = {int(said.rpartition(" ")[2]) for said in answers}
        assert server.pid not in workers
    assert all(said.startswith(f"o{number}: shipped") for number, said in enumerate(answers))
    # Every request was a call, and the first one of each worker failed and was repeated.
    assert learned(tmp_path) == (40 + len(workers), len(workers))


@pytest.mark.parametrize(
    "how", [how for how in ("fork", "spawn", "forkserver") if how in get_all_start_methods()]
)
def test_processes_of_multiprocessing_write_what_they_learned_when_they_end(how: str, tmp_path: Path) -> None:
    done = ran([str(HERE / "process_pools.py"), how], tmp_path)
    assert done.returncode == 0, done.stderr
    processes = {said.rpartition(" ")[2] for said in done.stdout.splitlines()}
    assert len(processes) > 2
    # The process that stood alone says nothing: its call, and the repeat of it.
    assert learned(tmp_path) == (21 + len(processes) + 2, len(processes) + 1)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this platform cannot stop a process")
def test_a_function_that_is_frozen_between_requests_and_killed_in_the_end_lost_nothing(
    tmp_path: Path,
) -> None:
    command = [sys.executable, str(HERE / "one_request.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables(tmp_path)
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(f"o{number}\n")
            process.stdin.flush()
            said = process.stdout.readline()
            assert said.startswith(f"True o{number}: shipped")
            process.send_signal(signal.SIGSTOP)  # with the answer, before anything else of the process runs
            assert learned(tmp_path) == (number + 2, 1)
            time.sleep(FROZEN_S)
            process.send_signal(signal.SIGCONT)
        process.kill()
    assert learned(tmp_path) == (4, 1)


CELERY_CLIENT = """
import sys
from task_app import look
asked = [look.delay(f"o{number}") for number in range(30)]
for one in asked:
    said, forked = one.get(timeout=120)
    assert forked
    print(said)
"""


@need("celery")
def test_celerys_forked_pool_learns_into_one_database(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "celery", "-A", "task_app", "worker", "--pool", "prefork"]
    with running([*command, "--concurrency", "2", "--without-mingle", "--without-gossip"], tmp_path):
        done = ran(["-c", CELERY_CLIENT], tmp_path)
    assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
    workers = {said.rpartition(" ")[2] for said in done.stdout.split("\n")} - {""}
    assert learned(tmp_path) == (30 + len(workers), len(workers))


RAY_SCRIPT = """
import ray
ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)

@ray.remote
def look(order_id):
    from shop_tools import MEMORY, look_up
    said = look_up(order_id=order_id)
    MEMORY.flush()  # Ray may end an idle worker at any time
    return said

for said in ray.get([look.remote(f"o{number}") for number in range(30)]):
    print(said)
ray.shutdown()
"""


@need("ray")
def test_rays_workers_learn_into_one_database(tmp_path: Path) -> None:
    settings = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    done = ran(["-c", RAY_SCRIPT], tmp_path, 300, **settings)
    assert done.returncode == 0, done.stderr
    workers = {said.rpartition(" ")[2] for said in done.stdout.splitlines() if ": shipped, by " in said}
    assert learned(tmp_path) == (30 + len(workers), len(workers))
