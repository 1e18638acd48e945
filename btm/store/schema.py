"""The tables. ``SCHEMA_VERSION`` is raised when they change; :mod:`btm.store.migrations` brings older databases along."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Connection, Float, Index, Integer, MetaData, String, Table, Text

SCHEMA_VERSION = 2

metadata = MetaData()

meta = Table(
    "btm_meta", metadata, Column("key", String(64), primary_key=True), Column("value", Text, nullable=False)
)

# One row a call: the run's own log. Arguments are kept as a keyed hash unless storing them is switched on.
calls = Table(
    "calls",
    metadata,
    Column("conversation", String(255), primary_key=True),
    Column("call_id", String(255), primary_key=True),
    Column("tool", String(255), nullable=False),
    Column("effect", String(8), nullable=False),
    Column("fingerprint", String(32), nullable=False),
    Column("arguments", Text),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float, nullable=False),
    Column("latency_s", Float),
    Column("kind", String(32)),
    Column("silent", Boolean, nullable=False),
    Column("ambiguous", Boolean, nullable=False),
    Column("status_code", Integer),
    Column("detail", Text, nullable=False),
    Column("rule", String(64), nullable=False),
    Column("reported", Boolean, nullable=False),
    Index("calls_by_end", "ended_at"),
)

incidents = Table(
    "incidents",
    metadata,
    Column("incident_id", String(512), primary_key=True),
    Column("conversation", String(255), nullable=False),
    Column("call_id", String(255), nullable=False),
    Column("parent_id", String(512), nullable=False),
    Column("tool", String(255), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("state", String(16), nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("closed_at", Float),
)
# Those that nobody ended are few, and every memory asks for them.
_left_open = Index("incidents_left_open", incidents.c.opened_at, sqlite_where=incidents.c.state == "open")

# One row an attempt: what each number in ``evidence`` is the sum of.
attempts = Table(
    "attempts",
    metadata,
    Column("conversation", String(255), primary_key=True),
    Column("call_id", String(255), primary_key=True),
    Column("incident_id", String(512), primary_key=True),
    Column("tool", String(255), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("action", String(16), nullable=False),
    Column("target", String(255), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("success", Boolean, nullable=False),
    Column("failed_as", String(32)),
    Column("at", Float, nullable=False),
    Column("latency_s", Float),
    # One key's attempts in order, for its trend: a log of millions is not read for that.
    Index("attempts_by_key", "tool", "kind", "action", "target", "ordinal", "at", "success"),
)

# Sums of decayed weights: adding an attempt is one atomic upsert, merging two databases is addition.
evidence = Table(
    "evidence",
    metadata,
    Column("tool", String(255), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("action", String(16), primary_key=True),
    Column("target", String(255), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("successes", Float, nullable=False),
    Column("failures", Float, nullable=False),
)

# Sums over answers: at this path a value of this type stood so often (json_type "": an object that had fields).
shapes = Table(
    "shapes",
    metadata,
    Column("tool", String(255), primary_key=True),
    Column("path", String(512), primary_key=True),
    Column("json_type", String(16), primary_key=True),
    Column("answers", Float, nullable=False),
)

# Conversations of logs that were fitted, by the digest of their content.
fitted = Table(
    "fitted",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("source", Text, nullable=False),
    Column("calls", Integer, nullable=False),
)

# One row a write, made before it runs: what is begun and has no end may have happened.
intents = Table(
    "intents",
    metadata,
    Column("conversation", String(255), primary_key=True),
    Column("call_id", String(255), primary_key=True),
    Column("tool", String(255), nullable=False),
    Column("fingerprint", String(32), nullable=False),
    Column("at", Float, nullable=False),
    Column("state", String(8), nullable=False),
    Column("wish", Text, nullable=False),
    Column("owner", String(255), nullable=False),
    Column("kind", String(32)),
    Column("keep", Boolean, nullable=False),
)


def create(connection: Connection) -> None:
    """Make the tables and indexes that are not there."""
    if (
        connection.dialect.name != "sqlite"
    ):  # said here: naming an option of a dialect loads it, which takes 40 ms
        _left_open.dialect_kwargs["postgresql_where"] = incidents.c.state == "open"
    metadata.create_all(connection)
