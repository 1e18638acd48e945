"""The rules as data: every entry names what it says that it names, and leaves its near text alone."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from derive_stems import DATA, FILES, derived, stems_of_pattern

from btm.classify import carriers, deciding, languages, rules, texts
from btm.model import ErrorKind

WORDINGS = rules.table("wording")["rule"]
CARRIERS = rules.table("carriers")["carrier"]
SIGNS = [sign for sign in rules.table("decision")["sign"] if "pattern" in sign]


@pytest.mark.parametrize("entry", WORDINGS, ids=lambda entry: f"{entry['kind']}-{entry['pattern'][:30]}")
def test_a_wording_names_its_text_and_not_the_near_one(entry: dict[str, str]) -> None:
    pattern = re.compile(entry["pattern"])
    assert pattern.search(entry["names"].lower()), entry["pattern"]
    assert not pattern.search(entry["near"].lower()), entry["pattern"]
    assert entry["source"]
    found = rules.wording().first(texts.unquoted(entry["names"].lower())) or rules.wording().first(
        entry["names"].lower()
    )
    assert found is not None
    assert found.kind == entry["kind"]


@pytest.mark.parametrize("entry", CARRIERS, ids=lambda entry: entry["name"])
def test_a_carrier_is_found_around_its_text_and_not_around_the_near_one(entry: dict[str, str]) -> None:
    carried, near = carriers.strip(entry["names"]), carriers.strip(entry["near"])
    assert carried is not None
    assert entry["name"] in carried.layers
    assert near is None or entry["name"] not in near.layers
    assert entry["source"]


@pytest.mark.parametrize("entry", SIGNS, ids=lambda entry: entry["name"])
def test_a_sign_is_seen_in_its_text_and_not_in_the_near_one(entry: dict[str, str]) -> None:
    pattern = re.compile(entry["pattern"])
    assert pattern.search(entry["names"])
    assert not pattern.search(entry["near"])


@pytest.mark.parametrize("name", FILES)
def test_the_words_by_which_rules_are_looked_up_are_those_of_their_patterns(name: str) -> None:
    text = (DATA / f"{name}.toml").read_text(encoding="utf-8")
    assert derived(text, FILES[name]) == text, "run python tests/classify/derive_stems.py"


def test_a_rule_without_recorded_words_is_found_all_the_same() -> None:
    found = rules.Wordings([rules.Wording(ErrorKind.UNAVAILABLE, r"(?:lift|escalator) is stuck")])
    assert found.stems == frozenset()
    assert found.first("sorry, the lift is stuck again") is not None
    assert found.first("the lift is fine") is None


@pytest.mark.parametrize(
    ("pattern", "stems"),
    [
        (r"\bconflict", {"confli"}),
        (r"unauthori[sz]ed", {"unauth"}),
        (r"(?:could not|cannot) (?:parse|read)", {"could", "cannot"}),
        (r"\bjwt\b", {"jwt"}),
        (r"\w+ing", set()),
    ],
)
def test_the_beginnings_of_words_that_a_match_must_hold_are_read_from_the_pattern(
    pattern: str, stems: set[str]
) -> None:
    assert stems_of_pattern(pattern) == stems


def test_every_sign_has_a_measured_weight_of_the_side_that_it_promises() -> None:
    for sign in rules.table("decision")["sign"]:
        promised = {"error": 1, "result": -1}.get(sign.get("says", ""), 0)
        assert sign["weight"] * promised >= 0, sign["name"]
    assert set(deciding.weights()) >= {"no layer", "no layer, no kind", deciding.WORDED}


def test_the_commonest_failures_are_known_in_thirty_languages_and_more() -> None:
    counted = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))
    common = {
        "timeout",
        "unavailable",
        "auth_error",
        "not_found",
        "invalid_arguments",
        "precondition_failed",
        "server_error",
    }
    assert sum(common <= set(kinds) for kinds in counted.values()) >= 30


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Käyttö estetty", "auth_error"),
        ("Sipariş bulunamadı", "not_found"),
        ("Превышено время ожидания ответа от сервера", "timeout"),
        ("요청이 너무 많습니다. 30초 후에 다시 시도하세요.", "rate_limit"),
        ("Serviço temporariamente indisponível. Tente novamente mais tarde.", "unavailable"),
        ("Bestillingen er allerede sendt og kan ikke avbrytes.", "precondition_failed"),
        ("Nie znaleziono zamówienia 12", "not_found"),
        ("انتهت مهلة الطلب", "timeout"),
        ("เกิดข้อผิดพลาด", "unknown"),
        ("ファイルが見つかりません", "not_found"),
    ],
)
def test_a_failure_in_another_language_is_named(text: str, kind: str) -> None:
    found = languages.find(text.lower())
    assert found is not None
    assert found.kind == kind
