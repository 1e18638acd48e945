"""Celery tasks that call the tool; broker and results are folders. The memory is opened before the pool is forked."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery
from celery.signals import worker_process_shutdown
from shop_tools import MEMORY, PARENT, look_up

folder = Path(os.environ["BTM_TEST_DATABASE"]).parent / "queue"
(folder / "results").mkdir(parents=True, exist_ok=True)
app = Celery("tasks", broker="filesystem://", backend=f"file://{folder / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": str(folder),
    "data_folder_out": str(folder),
    "control_folder": str(folder / "control"),
}


@worker_process_shutdown.connect
def written(**_: object) -> None:
    """Celery ends its processes without Python's own shutdown."""
    MEMORY.close()


@app.task
def look(order_id: str) -> tuple[str, bool]:
    """Answer with what the tool says, and whether this process was forked from the one that opened the memory."""
    return look_up(order_id=order_id), os.getpid() != PARENT
