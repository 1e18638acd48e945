"""What the options of ``btm eval`` ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from btm.errors import EvaluationError
from btm.lab.names import comma_separated, no_such

if TYPE_CHECKING:
    from btm.lab.request import Request
    from btm.lab.scenarios import Scenario

T = TypeVar("T")


def apply_preset(options: dict[str, Any]) -> None:
    """Put a preset's options where none is given on the command line."""
    name = options["preset"]
    if name is None:
        return
    from btm.lab.noise import preset  # noqa: PLC0415

    given = click.get_current_context().get_parameter_source
    made = preset(name).options
    options |= {o: value for o, value in made.items() if given(o) is not ParameterSource.COMMANDLINE}


def _only(option: str, values: Sequence[T]) -> T:
    if len(values) != 1:
        raise EvaluationError(f"{option} takes several values only with --grid")
    return values[0]


def request_of(options: Mapping[str, Any]) -> Request:
    """Read the options of ``btm eval``; raises EvaluationError with the nearest right name."""
    from btm.cli.grid import read_allowances, read_contrasts, read_passes  # noqa: PLC0415
    from btm.lab.faults import FAULT_KINDS, FaultSettings  # noqa: PLC0415
    from btm.lab.faults import fault_kinds as kinds_in  # noqa: PLC0415
    from btm.lab.noise import read_noise  # noqa: PLC0415
    from btm.lab.own_agent import is_model  # noqa: PLC0415
    from btm.lab.request import Request, default_scenarios  # noqa: PLC0415
    from btm.lab.world import ALLOWANCE  # noqa: PLC0415

    seeds, show, asked_kinds = read_seeds(options["seeds"]), options["show"], options["fault_kinds"]
    if show and not is_model(options["agent"]):
        raise EvaluationError("--show shows tasks to a chat model: it goes with --base-url and --model")
    around = read_noise(options["noise"], options["noise_growth"])
    kinds = kinds_in(asked_kinds) if asked_kinds is not None else (around and around.kinds) or FAULT_KINDS
    contrast, allowance = options["contrast"], options["allowance"]
    as_they_are = ("domain", "fallback_map", "agent", "profile", "worlds", "best_fixed", "database")
    return Request(
        **{name: options[name] for name in as_they_are},
        noise=around,
        preset=options["preset"] or "",
        shown=comma_separated(show or ""),
        seeds=seeds if len(seeds) > 1 else (),
        scenarios=read_scenarios(options["scenarios"]) or default_scenarios(options["profile"]),
        arms=comma_separated(options["arms"]),
        faults=FaultSettings(
            seed=seeds[0],
            weights={kind: 1.0 for kind in FAULT_KINDS if kind in kinds},
            **{name: options[name] for name in ("unseen", "rate", "max_consecutive", "budget")},
        ),
        passes=_only("--passes", read_passes(options["passes"])),
        contrast=_only("--contrast", read_contrasts(contrast)) if contrast is not None else 1.0,
        allowance=_only("--allowance", read_allowances(allowance)) if allowance is not None else ALLOWANCE,
        tasks=read_tasks(options["tasks"]),
    )


def read_seeds(text: str) -> tuple[int, ...]:
    """Read ``--seed``: a number, numbers separated by commas, or the first and the last of a row (``0..4``)."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, dots, last = part.partition("..")
            found += range(int(first), int(last) + 1) if dots else [int(first)]
    except ValueError:
        found = []
    if not found:
        raise EvaluationError(f"--seed is a number, or several (0..4, or 0,3), not {text!r}")
    return tuple(dict.fromkeys(found))


def read_scenarios(values: tuple[str, ...]) -> tuple[Scenario, ...]:
    """Read scenario names, repeated or comma-separated; raises EvaluationError that names the nearest.

    None are named: the profile's own are meant.
    """
    from btm.lab.scenarios import TROUBLED, Scenario  # noqa: PLC0415

    names = [name for value in values for name in comma_separated(value)]
    known = [*(scenario.value for scenario in Scenario), "all"]
    found: list[Scenario] = []
    for name in names:
        if name == "all":
            found += [Scenario.CLEAN, *TROUBLED]
        elif name in known:
            found.append(Scenario(name))
        else:
            raise no_such("scenario", name, known)
    return tuple(dict.fromkeys(found))


def read_tasks(value: str | None) -> int | tuple[str, ...] | None:
    """Read ``--tasks``: a number of tasks, or ids separated by commas."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return int(value)
    ids = comma_separated(value)
    if not ids:
        raise EvaluationError("--tasks names no task: expected a number, or ids separated by commas")
    return ids
