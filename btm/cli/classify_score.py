"""What ``btm classify --score`` prints: how well labelled outcomes are named, by library, and how right confidences are."""

from __future__ import annotations

from typing import Any

from btm.classify.scoring import OK, Accuracy
from btm.cli.output import console, paragraph, table

_MOST = 25
"""Libraries that are shown to people; ``--json`` has all."""


def document(whole: Accuracy, libraries: dict[str, Accuracy]) -> dict[str, Any]:
    """Return the score as one JSON document; shares are in [0, 1]."""
    return {
        **_figures(whole),
        "unflagged_errors": whole.unflagged,
        "passed": whole.passed,
        "passed_suspected": whole.suspected,
        "successes": whole.rows[OK],
        "false_errors": len(whole.false_errors),
        "calibration_error": round(whole.calibration_error, 4),
        "reliability": [
            {"said": round(said, 3), "right": round(right, 3), "rows": n}
            for said, right, n in whole.reliability()
        ],
        "libraries": [{"library": name, **_figures(score)} for name, score in libraries.items()],
        "wrong": whole.wrong,
    }


def _figures(score: Accuracy) -> dict[str, Any]:
    return {"rows": score.total, "exact": round(score.exact_share, 4), "family": round(score.family_share, 4)}


def show(whole: Accuracy, libraries: dict[str, Accuracy]) -> None:
    """Print the score for people: the libraries that are named worst, then how right confidences are."""
    out = console()
    worst = sorted(libraries.items(), key=lambda item: item[1].exact.total() - item[1].total)[:_MOST]
    rows = (
        (name, s.total, f"{s.exact_share:.2f}", f"{s.family_share:.2f}", len(s.false_errors) or "")
        for name, s in worst
    )
    out.print(table("library", ">rows", ">exact", ">family", "false errors", rows=rows))
    sure = ((f"{mean:.2f}", f"{right:.2f}", n) for mean, right, n in whole.reliability())
    out.print(table(">confidence", ">was right", ">rows", rows=sure))
    out.print()
    paragraph(
        out,
        f"{whole.total:,} rows of {len(libraries):,} libraries: exact {whole.exact_share:.3f}, family "
        f"{whole.family_share:.3f}; {whole.passed} of {whole.unflagged} unflagged errors passed as ok "
        f"({whole.suspected} of them suspected), {len(whole.false_errors)} of {whole.rows[OK]} successes called "
        f"errors; expected calibration error {whole.calibration_error:.3f}",
    )
