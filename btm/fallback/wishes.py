"""When two calls of a write are the same wish, however they are spelled: what may have happened once must not twice."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from btm.fallback.values import agree
from btm.support.untrusted import canonical

_MAX_VALUES = 200
_MAX_DEPTH = 6

# What a model words anew each time, and keys that are meant to be new each time: neither makes another wish.
_INCIDENTAL = re.compile(
    r"(?:^|[_.\-])(?:memo|notes?|comments?|remarks?|reason|description|desc|tags?|labels?|metadata|meta"
    r"|idempotency(?:[_\-]?key)?|nonce|request[_\-]?id|client[_\-]?token|correlation[_\-]?id|trace[_\-]?id"
    r"|attempt|retry|retries|timestamp|sent[_\-]?at)$",
    re.IGNORECASE,
)
# What a model words anew each time where something shorter names it: the text of a letter that has a subject.
_WORDED = re.compile(r"(?:^|[_.])(?:body|content|text|message|html)(?:_(?:html|text))?$", re.IGNORECASE)
_NAMED = re.compile(r"(?:^|[_.])(?:subject|title|summary|headline)$", re.IGNORECASE)
_CURRENCY = r"(?:[$€£¥₹₩]|USD|EUR|GBP|JPY|CNY|CHF|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|MXN|KRW)"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MONEY = re.compile(
    rf"(?:{_CURRENCY}\s?)?(?P<whole>-?\d{{1,3}}(?:[,. ']\d{{3}})+|-?\d+)(?:[.,](?P<fraction>\d{{1,2}}))?(?:\s?{_CURRENCY})?"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def same_wish(one: Mapping[str, Any], other: Mapping[str, Any], identity: Collection[str] = ()) -> bool:
    """Whether two calls' arguments ask for the same thing.

    ``identity`` names the arguments that make the wish. Without it these are all but the incidental ones (memos, notes,
    idempotency keys); an argument that one call leaves out does not tell them apart, and at least one has to agree.
    Values agree as people take them: 50, 50.0 and "50" do, so do texts that differ in case or outer space only.
    """
    mine, its = dict(_leaves(one)), dict(_leaves(other))
    if identity:
        return all(
            _agree(mine.get(name), its.get(name)) for name in _under(identity, mine.keys() | its.keys())
        )
    both = [name for name in _telling(mine) if name in its]
    return bool(both) and all(_agree(mine[name], its[name]) for name in both)


def _telling(names: Collection[str]) -> list[str]:
    """Return the names of arguments that tell one wish from another."""
    plain = {name: _HUMP.sub("_", name) for name in names}
    named = any(_NAMED.search(text) for text in plain.values())
    return [
        name
        for name, text in plain.items()
        if not (_INCIDENTAL.search(text) or (named and _WORDED.search(text)))
    ]


def _under(identity: Collection[str], names: Collection[str]) -> list[str]:
    """Return the leaves that belong to these arguments, the arguments themselves included."""
    roots = tuple(f"{name}." for name in identity)
    return [*identity, *(name for name in names if name.startswith(roots))]


def _leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield dotted names with the values that are no mappings; what is left empty is not given."""
    if not isinstance(value, Mapping) or depth > _MAX_DEPTH:
        if value is not None and value != "":
            yield path, value
        return
    for count, (name, inner) in enumerate(value.items()):
        if count >= _MAX_VALUES:
            return
        yield from _leaves(inner, f"{path}.{name}" if path else str(name), depth + 1)


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str) and one.strip().casefold() == other.strip().casefold():
        return True
    return agree(_amount(one), _amount(other))


def _amount(value: Any) -> Any:
    """Return an amount that a text spells out as a number's text: "$50", "50,00 EUR" and "1,050.00" do. Else the value."""
    if not isinstance(value, str) or len(value) > 40:
        return value
    found = _MONEY.fullmatch(value.strip())
    if found is None or _NUMBER.fullmatch(value.strip()):
        return value
    digits, fraction = found.group("whole"), found.group("fraction")
    return "".join(c for c in digits if c.isdigit() or c == "-") + (f".{fraction}" if fraction else "")


def wish_marks(arguments: Mapping[str, Any], key: bytes, identity: Collection[str] = ()) -> dict[str, str]:
    """Return keyed hashes of what makes a wish, by the hash of each argument's name.

    They tell :func:`same_marks` what :func:`same_wish` is told by the arguments themselves, and do not give them away.
    """
    leaves = dict(_leaves(arguments))
    names = _under(identity, leaves.keys()) if identity else _telling(leaves.keys())
    return {_mark(name, key): _mark(_plain(leaves.get(name)), key) for name in names}


def same_marks(one: Mapping[str, str], other: Mapping[str, str], identity: Collection[str] = ()) -> bool:
    """Whether two calls ask for the same thing, by their marks; see :func:`same_wish`."""
    if identity:
        return one == other
    both = one.keys() & other.keys()
    return bool(both) and all(one[name] == other[name] for name in both)


def _mark(text: str, key: bytes) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8, key=key[:64]).hexdigest()


def _plain(value: Any) -> str:
    """Return a value as a text that is the same for values that agree."""
    value = _amount(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return repr(float(value))
        except (ValueError, OverflowError):
            pass
    text = value if isinstance(value, str) else canonical(value).decode("utf-8", "replace")
    return text.strip().casefold()
