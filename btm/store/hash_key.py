"""The secret under which arguments are named: who reads the database alone cannot guess them from their hashes.

It is given (``hash_key=``, or the environment's ``BTM_HASH_KEY``), or drawn at random and kept in a file of its own
beside a SQLite database, for its owner alone. A PostgreSQL database without a given one keeps it itself.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from btm.errors import StoreError

VARIABLE = "BTM_HASH_KEY"
_SIZE = 16
_SALT = b"btm names arguments"


def given(asked: bytes | None) -> bytes | None:
    """Return the key that was asked for, else the environment's, else None.

    The environment's may be a phrase, so what it is made into a key with is slow: a few hundredths of a second.
    """
    if asked is not None:
        return asked
    phrase = os.environ.get(VARIABLE, "")
    if not phrase:
        return None
    return hashlib.scrypt(phrase.encode(), salt=_SALT, n=2**14, r=8, p=1, dklen=_SIZE)


def drawn() -> bytes:
    """Return a new random key."""
    return secrets.token_bytes(_SIZE)


def check(key: bytes) -> str:
    """Return what tells one key from another and gives none away."""
    return hashlib.blake2b(_SALT, key=key[:64], digest_size=8).hexdigest()


def file_of(database: str) -> Path:
    """Return where the key of a SQLite file is kept."""
    return Path(f"{database}.key")


def in_file(database: str) -> bytes | None:
    """Return the key that is kept beside a SQLite file, or None. Raises StoreError for a file that holds none."""
    path = file_of(database)
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"the hash key {path} cannot be read: {error}") from error
    try:
        key = bytes.fromhex(text)
    except ValueError as error:
        raise StoreError(f"{path} holds what is no hash key; move it away and a new one is made") from error
    if not key:
        raise StoreError(f"{path} is empty and no hash key; move it away and a new one is made")
    return key


def keep_in_file(database: str, key: bytes) -> bytes:
    """Keep a key beside a SQLite file, unless another process was first; return the one that is kept."""
    path = file_of(database)
    own = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(own, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(key.hex())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(own, path)  # whole, or not at all; never over another
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                own.replace(path)
    except OSError as error:
        raise StoreError(f"the hash key {path} cannot be kept: {error}") from error
    finally:
        with suppress(OSError):
            own.unlink()
    return in_file(database) or key


IN_DATABASE = "hash_key"
"""What a database states the key as that it keeps itself."""

_CHECK = "hash_key_check"
_FROM = "hash_key_from"
_FROM_OUTSIDE = "outside"


class Keys(NamedTuple):
    """A database's key, what it is to state about it, and a warning if arguments were named under another one."""

    key: bytes
    to_state: Mapping[str, str]
    warning: str = ""


def found(
    stated: Mapping[str, str], path: str | None, asked: bytes | None, known: bytes | None = None
) -> Keys:
    """Return the key of a database that states this. ``path`` is that of a SQLite file, ``known`` the key it had before.

    One that is neither given nor kept is drawn; what is then to be stated is said, and :func:`keep` keeps it.
    Raises StoreError for a file or a statement that is no key.
    """
    outside = given(asked)
    key = outside or (_stated_key(stated) if path is None else in_file(path) or _stated_key(stated))
    if key is None and is_missing_outside(stated):
        return Keys(drawn(), {}, f"set {VARIABLE} to what it was when the database was made")
    key = key or known or drawn()
    to_state = {_CHECK: check(key), _FROM: _FROM_OUTSIDE if outside else "own"}
    if not outside and path is None:
        to_state[IN_DATABASE] = key.hex()
    if all(stated.get(name) == value for name, value in to_state.items()):
        return Keys(key, {})
    same = stated.get(_CHECK, to_state[_CHECK]) == to_state[_CHECK]
    return Keys(key, to_state, "" if same else "its key was changed or lost")


def is_missing_outside(stated: Mapping[str, str]) -> bool:
    """Whether a database's key is given by who opens it, and this process has none to give."""
    return stated.get(_FROM) == _FROM_OUTSIDE and not os.environ.get(VARIABLE)


def keep(keys: Keys, path: str | None) -> Keys:
    """Keep a key that is stated anew where it belongs; return the one that is kept there."""
    if path is None or keys.to_state.get(_FROM) != "own":
        return keys
    key = keep_in_file(path, keys.key)
    return keys._replace(key=key, to_state={**keys.to_state, _CHECK: check(key)})


def _stated_key(stated: Mapping[str, str]) -> bytes | None:
    text = stated.get(IN_DATABASE)
    return None if text is None else bytes.fromhex(text)
