"""Options that come to stand in another program's file, from where that program will start btm."""

from __future__ import annotations

from pathlib import Path


def standing(map_name: str | None, database: str | None) -> list[str]:
    """Return the options for a map and a database, with paths that lead to the same file from every folder."""
    made: list[str] = []
    for option, value in (("--map", map_name), ("--db", database)):
        if value is not None:
            is_file = Path(value).expanduser().exists() or (option == "--db" and "://" not in value)
            made += [option, str(Path(value).expanduser().resolve()) if is_file else value]
    return made


def check_map(map_name: str | None) -> None:
    """Read a map now: what is wrong with it would be found by nobody later. Raises FallbackMapError."""
    if map_name is not None:
        from btm.fallback.map import FallbackMap  # noqa: PLC0415 - a hook has no use for it

        FallbackMap.load(map_name)
