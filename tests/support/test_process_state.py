"""What changes and belongs to a module has an owner, a bound and a reset."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import btm
from btm.errors import BTMError
from btm.support import process_state
from btm.support.argument_identity import FirstSeen


def module_values() -> Iterator[tuple[str, str, Any]]:
    """Every name of every module of btm that can be imported here."""
    for found in pkgutil.walk_packages(btm.__path__, "btm."):
        if not found.name.endswith("__main__"):
            with suppress(ImportError, BTMError):  # an optional package is not installed
                importlib.import_module(found.name)
    for module, loaded in sorted(sys.modules.items()):
        if module.partition(".")[0] == "btm":
            yield from ((module, name, value) for name, value in vars(loaded).items())


def test_a_table_that_belongs_to_a_module_is_named_with_its_owner() -> None:
    changing = (dict, list, set, FirstSeen)
    found = {
        (module, name): value
        for module, name, value in module_values()
        if name.startswith("_")
        and name.islower()
        and not name.startswith("__")
        and isinstance(value, changing)
    }
    assert found
    kept = {id(entry.table): entry.owner for entry in process_state.all_kept()}
    assert {place: kept.get(id(value)) for place, value in found.items()} == {
        place: place[0] for place in found
    }


def test_a_function_that_caches_has_a_bound_unless_what_it_is_asked_for_has_one() -> None:
    endless = {
        f"{module}.{name}"
        for module, name, value in module_values()
        if hasattr(value, "cache_parameters")
        and value.__module__ == module
        and value.cache_parameters()["maxsize"] is None
        and bool(inspect.signature(value).parameters)  # without any there is one answer
        and not module.startswith("btm.lab")  # one run of an evaluation, by the names of its environments
    }
    # Asked for by names of the packaged rules only: there are as many as the package lists.
    assert endless <= {
        "btm.classify.body_keys._ranks",
        "btm.classify.codes._affixes",
        "btm.classify.codes._set",
        "btm.classify.codes._listed",
        "btm.classify.rules._finding_of",
        "btm.classify.rules.table",
    }


def test_a_reset_empties_what_may_be_forgotten_and_nothing_that_lives() -> None:
    said = process_state.kept(__name__, {"a warning"}, most=10)
    alive = process_state.follows_the_living(__name__, {"a task"})
    try:
        process_state.reset()
        assert (said, alive) == (set(), {"a task"})
        assert all(entry.most is None or len(entry.table) <= entry.most for entry in process_state.all_kept())
    finally:
        process_state._KEPT[-2:] = []


@pytest.mark.parametrize("owner", ["btm.support.failsafe", "btm.support.forks"])
def test_what_is_kept_can_be_listed(owner: str) -> None:
    assert owner in {entry.owner for entry in process_state.all_kept()}
