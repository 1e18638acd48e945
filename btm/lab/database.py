"""The database of an evaluation: made anew by each run, and never in the place of anything else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from btm.errors import EvaluationError

PURPOSE = "evaluation"
"""What the database's own notes say that it is for: such a database holds simulated calls only."""


def new_database(path: str | Path) -> Path:
    """Return the path of a fresh, marked database; one that an earlier evaluation left there is replaced.

    Raises EvaluationError when another file is there, or none can be made: evidence from real calls is not lost
    to a simulation.
    """
    path = Path(path)
    if path.is_dir():
        raise EvaluationError(f"{path} is a folder, not a database")
    if not path.parent.is_dir():
        raise EvaluationError(f"there is no folder {path.parent} to keep the database in")
    if path.exists():
        if not is_evaluation(path):
            raise EvaluationError(
                f"{path} is there already, and no evaluation wrote it; name another file for the simulated calls"
            )
        for end in ("", "-wal", "-shm", ".key"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "CREATE TABLE btm_meta (key VARCHAR(64) NOT NULL PRIMARY KEY, value TEXT NOT NULL)"
            )
            connection.execute("INSERT INTO btm_meta VALUES ('purpose', ?)", (PURPOSE,))
    except sqlite3.Error as problem:
        raise EvaluationError(f"the database {path} cannot be made: {problem}") from problem
    return path


def is_evaluation(path: Path) -> bool:
    """Whether a file is a database that an evaluation wrote."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT value FROM btm_meta WHERE key = 'purpose'").fetchone()
    except sqlite3.Error:
        return False  # no database, or one without our notes
    return bool(row == (PURPOSE,))
