"""Writes ``btm/classify/data/languages.toml`` from message catalogues: which phrases say what, in which language.

    python tests/classify/build_languages.py DIRECTORY... > btm/classify/data/languages.toml

DIRECTORY is searched for gettext catalogues (``<language>/LC_MESSAGES/<domain>.mo``) and for Apache's error documents
(``error/HTTP_*.html.var``). The English message of a translation says its kind, by the wordings of the classifier; a
phrase of a language is kept when it stands in messages of one kind and hardly anywhere else in the catalogues of that
language: a fact about the language, not a text of the catalogue. Nothing but such phrases is written.
"""

from __future__ import annotations

import gettext
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from btm.classify.languages import CUT, JOINED, words
from btm.classify.rules import wording
from btm.model import ErrorKind as K

KINDS = frozenset(K) - {K.UNKNOWN, K.STALE_DATA, K.FACTUAL_ERROR, K.PARTIAL_DATA, K.UNKNOWN_TOOL}
LANGUAGES = """ar be bg bn bs ca cs da de el eo es et eu fa fi fr ga gl gu he hi hr hu id is it ja ka kk kn ko lt lv mk ml
    mr ms nb nl nn pa pl pt ro ru sk sl sq sr sv ta te th tr uk ur vi zh""".split()  # noqa: SIM905
DOMAINS = re.compile(
    r"^(?:django|glib20|libc|coreutils|pidgin|evolution-data-server|gvfs|filezilla|libsoup(?:-3\.0)?|glib-networking"
    r"|wget|apt|libapt-pkg6\.0|bash|mutt|subversion|hg|postgres-15|libpq5-15|psql-15|libgpg-error|mit-krb5|Linux-PAM|avahi"
    r"|PackageKit|gnupg2|systemd|claws-mail|grep|findutils|tar|dpkg|shadow|gettext-runtime|gstreamer-1\.0|gtk20)$"
)
MOST, SUPPORT, PRECISION = 10, 3, 0.8
NOTHING_SAID = re.compile(
    r"^(?:an? )?(?:unknown|unexpected|internal|unspecified|fatal|general|undefined)? ?(?:error|failure)"
    r"(?: (?:has )?occurr?ed)?[.!]?$|^(?:operation|request)? ?failed[.!]?$|^something went wrong"
)
_FILLED = re.compile(
    r"%(?:\(\w+\))?[-+ #0]*[\d.*]*(?:\d+\$)?[hlLqjzt]*[a-zA-Z]|\{[^}]*\}|<[^>]*>|&\w+;|[_&](?=\w)"
)


CANON = re.compile(r"rest_framework|libc\.mo|html\.var")
"""Catalogues whose every message of failure counts, however rare its words."""


def catalogues(roots: list[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield language, English message, translation, and whether the catalogue counts message by message."""
    for root in roots:
        for path in sorted(Path(root).rglob("*.mo"), key=lambda path: (not CANON.search(str(path)), path)):
            language = path.parent.parent.name.split("@")[0].split("_")[0].replace("no", "nb")
            if language not in LANGUAGES or not DOMAINS.match(path.stem) or "@" in path.parent.parent.name:
                continue
            try:
                with path.open("rb") as file:
                    known = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            except (OSError, UnicodeDecodeError, ValueError):
                continue
            for key, said in known.items():
                message = key[0] if isinstance(key, tuple) else key
                if message and said and said != message:
                    yield language, message.rpartition("\x04")[2], said, CANON.search(str(path)) is not None
        for path in sorted(Path(root).rglob("HTTP_*.html.var")):
            yield from ((*found, True) for found in apache(path))


def apache(path: Path) -> Iterator[tuple[str, str, str]]:
    titles: dict[str, str] = {}
    for block in path.read_bytes().split(b"Content-language: ")[1:]:
        charset = re.search(rb"charset=([\w-]+)", block)
        text = block.decode(charset.group(1).decode() if charset else "utf-8", "replace")
        title = re.search(r'set var="TITLE" value="([^"]+)"', text)
        if title:
            titles[text.split("\n", 1)[0].strip().split("-")[0]] = title.group(1)
    english = titles.get("en", "")
    for language, title in titles.items():
        if language in LANGUAGES and english:
            yield language, english, title


def kind_of(message: str) -> K | None:
    low = _FILLED.sub("x", message).lower().strip()
    if not 3 <= len(low) <= 140 or "?" in low:
        return None
    if NOTHING_SAID.search(low):
        return K.UNKNOWN
    found = wording().first(low)
    return found.kind if found is not None and found.kind in KINDS and found.confidence >= 0.8 else None


def phrases_of(language: str, text: str) -> set[str]:
    low = _FILLED.sub(" \x00 ", text).lower()
    if language in JOINED:
        return {
            low[i : i + n]
            for n in range(2, 9)
            for i in range(len(low) - n + 1)
            if low[i : i + n].isalnum() or all(c.isalpha() or ord(c) > 0xE00 for c in low[i : i + n])
        }
    found = words(low)
    return {
        " ".join(found[i : i + n])
        for n in (1, 2, 3)
        for i in range(len(found) - n + 1)
        if "\x00" not in found[i : i + n]
    }


def main(roots: list[str]) -> None:
    english: Counter[str] = Counter()
    total: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, dict[K, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    exact: dict[str, dict[K, set[str]]] = defaultdict(lambda: defaultdict(set))
    single: dict[str, dict[K, list[set[str]]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[str, str]] = set()
    known: dict[str, K | None] = {}
    for language, message, said, canon in catalogues(roots):
        if (language, message) in seen:
            continue
        seen.add((language, message))
        if message not in known:
            known[message] = kind_of(message)
            english.update(set(words(message.lower())))
        kind = known[message]
        found = phrases_of(language, said)
        total[language].update(found)
        if kind is K.UNKNOWN:
            exact[language][kind].add(
                " ".join(words(said.lower())) if language not in JOINED else said.lower().strip("。.!")
            )
        elif kind is not None:
            kinds[language][kind].update(found)
            whole = " ".join(words(_FILLED.sub("", said).lower()))
            if canon:
                single[language][kind].append(found)
            if language not in JOINED and 2 <= len(whole.split()) <= 4 and len(message.split()) <= 5:
                exact[language][kind].add(whole)
    print(
        "# Phrases of failures by language and kind. Written by tests/classify/build_languages.py, not by hand."
    )
    print(
        f"# Each word is cut to {CUT} letters, so that inflected forms are one; languages without spaces are not cut."
    )
    print("# Facts about languages, counted in the catalogues of: " + "; ".join(SOURCES) + ".")
    for language in LANGUAGES:
        lines = []
        for kind in K:
            chosen = choose(kinds[language][kind], total[language], english, language)
            more = sorted(
                p
                for p in exact[language][kind]
                if 3 < len(p) < 40 and p not in _elsewhere(exact[language], kind)
            )
            chosen += more[: 8 if kind is K.UNKNOWN else max(0, 6 - len(chosen))]
            chosen += rare(single[language][kind], chosen, kinds[language][kind], total[language], english)
            if chosen:
                lines.append(
                    f'{kind.value} = "'
                    + " | ".join(dict.fromkeys(" ".join(c.split()) for c in chosen))
                    .replace('"', "")
                    .replace("\\", "")
                    + '"'
                )
        if lines:
            print(f"\n[{language}]")
            print("\n".join(lines))


def _elsewhere(exact: dict[K, set[str]], kind: K) -> set[str]:
    return set().union(*(phrases for other, phrases in exact.items() if other is not kind))


SOURCES = (
    "Django and Django REST framework (BSD-3-Clause)",
    "GLib, gvfs, libsoup, glib-networking, evolution-data-server (LGPL)",
    "glibc, libgpg-error (LGPL)",
    "coreutils, wget, bash, findutils, grep, tar, dpkg, apt, shadow, Pidgin, FileZilla, mutt (GPL)",
    "PostgreSQL (PostgreSQL licence)",
    "Apache httpd error documents (Apache-2.0)",
    "Subversion (Apache-2.0)",
    "MIT Kerberos (MIT)",
)


def rare(
    messages: list[set[str]],
    chosen: list[str],
    counts: Counter[str],
    total: Counter[str],
    english: Counter[str],
) -> list[str]:
    """For each message without a chosen phrase, the piece of it that is most its kind's own, where that is half at least."""
    found = []
    for phrases in messages:
        if any(c in phrases for c in chosen):
            continue
        fits = [p for p in phrases if _is_telling(p, english) and counts[p] * 2 >= total[p]]
        if fits:
            found.append(max(fits, key=lambda p: (counts[p] / total[p], len(p.split()), len(p), p)))
    return list(dict.fromkeys(found))[:24]


def _is_telling(phrase: str, english: Counter[str]) -> bool:
    words_in = phrase.split()
    if any(w in english and len(w) > 3 for w in words_in):
        return False
    return len(phrase) > 7 if phrase.isascii() or ord(max(phrase)) < 0x2E80 else 4 <= len(phrase) <= 8


def choose(counts: Counter[str], total: Counter[str], english: Counter[str], language: str) -> list[str]:
    """The phrases that speak of one kind: the most frequent first, none that holds another one."""
    scored = []
    for phrase, n in counts.items():
        if n < SUPPORT or n / total[phrase] < PRECISION or (n - 0.5) / total[phrase] < 0.6:
            continue
        letters = phrase.replace(" ", "")
        if language in JOINED and len(phrase) < (3 if language in ("ja", "zh") else 5):
            continue
        if language not in JOINED and (
            len(letters) < 5 or all(w in english or len(w) < 3 for w in phrase.split())
        ):
            continue
        if any(w in english and len(w) > 3 for w in phrase.split()):
            continue
        scored.append((n, -len(phrase), phrase))
    chosen: list[str] = []
    for _, _, phrase in sorted(scored, reverse=True):
        around = f" {phrase} " if language not in JOINED else phrase
        if not any((f" {c} " if language not in JOINED else c) in around for c in chosen):
            chosen.append(phrase)
        if len(chosen) == MOST:
            break
    return chosen


if __name__ == "__main__":
    main(sys.argv[1:])
