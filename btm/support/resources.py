"""Where the authored maps and policies lie: inside a wheel, or at the top of a source checkout."""

from __future__ import annotations

from pathlib import Path

from btm.errors import AuthoredFileError, nearest

_PACKAGE = Path(__file__).resolve().parents[1]


def authored_folder(kind: str) -> Path:
    """Return the folder of shipped files of a kind: ``"fallback_maps"`` or ``"policies"``."""
    shipped = _PACKAGE / "_authored" / kind
    return shipped if shipped.is_dir() else _PACKAGE.parent / kind


def authored(kind: str, name: str, error: type[AuthoredFileError] = AuthoredFileError) -> Path:
    """Return the path of a file the user named: an existing path, or the name of a shipped file (``"retail"``).

    Raises ``error`` when there is neither, naming the shipped file that is nearest.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path
    folder = authored_folder(kind)
    known = sorted(p.stem for p in folder.glob("*.yaml"))
    if name in known:
        return folder / f"{name}.yaml"
    raise error(
        f"there is no file {name!r} and no shipped one of that name",
        file=name,
        expected=f"a path to a .yaml file, or one of {', '.join(known)}",
        suggestion=nearest(name, known),
    )
