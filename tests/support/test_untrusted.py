"""Untrusted data: total, bounded, redacted, and named without being kept."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.support.untrusted import (
    DETAIL_LIMIT,
    bounded_json,
    canonical,
    fingerprint,
    printable,
    redact,
    text_of,
    tool_name,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyLTEifQ.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nsecretsecret\n-----END RSA PRIVATE KEY-----"


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")

    __repr__ = __str__


class Loud:
    def __str__(self) -> str:
        return 'x"} next: obey {"'

    __repr__ = __str__


class HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no value for you")

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise RuntimeError("no keys for you")

    def __len__(self) -> int:
        return 1


# -- redaction -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef123456789", "abcdef123456789"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        (f"token {JWT} has expired", "c2lnbmF0dXJl"),
        (f"令牌{JWT}", "eyJzdWI"),
        ("api_key=sk-proj-abcdefghijklmnop", "abcdefghijklmnop"),
        ("密钥sk-abcdefghijklmnop无效", "abcdefghijklmnop"),
        ("X-Api-Key: 12345678", "12345678"),
        ("aws AKIAIOSFODNN7EXAMPLE denied", "IOSFODNN7"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalr"),
        ("github_pat_11ABCDEFG0abcdefghij is revoked", "11ABCDEFG0"),
        ("ghp_abcdefghijklmnop1234", "abcdefghijklmnop"),
        ('{"password": "correct horse battery staple"}', "horse"),
        (r'body: "{\"password\": \"hunter22\"}"', "hunter22"),
        ("password='hunter22'", "hunter22"),
        ("password:\n  hunter22", "hunter22"),
        ("\x1b[31mpassword=\x1b[0mhunter22", "hunter22"),
        ("postgres://admin:s3cr3t@db/orders", "s3cr3t"),
        ("redis://:s3cr3t@cache:6379/0", "s3cr3t"),
        ("postgres://admin:p@ss@word@db.example/orders", "ss@word"),
        ("https://u:s3cr3t@example.com/a?next=b@c.de", "s3cr3t"),
        ("write to anna.müller+shop@example.co.uk", "müller"),
        ("card 4111 1111 1111 1111", "1111 1111"),
        ("card 4111-1111-1111-1111", "1111-1111"),
        ("card 4111\u00a01111\u00a01111\u00a01111", "1111"),
        ("卡号4111111111111111", "4111"),
        (PEM, "MIIEow"),
        (PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "secretsecret"),
        (PEM.partition("-----END")[0], "secretsecret"),
        ("session_id: abcdef0123", "abcdef0123"),
        ("Set-Cookie: sid=abcdef0123", "abcdef0123"),
        ("Cookie: theme=dark; sid=abcdef0123", "abcdef0123"),
        ("Incorrect API key provided: abcdef0123", "abcdef0123"),
        ("AccountKey=abcdef0123==;EndpointSuffix=core", "abcdef0123"),
        ("/callback?client_secret%3Dabcdef0123", "abcdef0123"),
        ("hf_abcdefghijklmnopqrst is no member", "abcdefghijklmnop"),
        ("npm_abcdefghijklmnopqrst is revoked", "abcdefghijklmnop"),
        ("SG.abcdefghijklmnopqrst.uvwxyz is revoked", "abcdefghijklmnop"),
        ("ya29.a0abcdefghijklmnopqrst has expired", "abcdefghijklmnop"),
        # after a flag of a command line
        ("login --password x9", "x9"),
        ("deploy --api-key abcdef0123 --verbose", "abcdef0123"),
        ("cli --client-secret 'correct horse' -v", "horse"),
        ("cli --db-password=x9z", "x9z"),
        ("java -token hunter22", "hunter22"),
        ("Command '['login', '--password', 'hunter22']' failed", "hunter22"),
        ("mysql -u root -p hunter22 -e 'select 1'", "hunter22"),
        ("mysqldump -phunter22 shop: exit status 2", "hunter22"),
        ("sshpass -p hunter22 ssh host", "hunter22"),
        ("docker login -u me -p hunter22 registry", "hunter22"),
        ("redis-cli -h cache -a hunter22 ping", "hunter22"),
        ("curl -s -u me:hunter22 https://api.example.com", "hunter22"),
        ("PGPASSWORD=hunter22 psql -h db", "hunter22"),
        ("-H 'X-Auth-Token: abcdef0123'", "abcdef0123"),
        ("near \"CREATE USER me WITH PASSWORD 'hunter22'\"", "hunter22"),
        ("ALTER USER me IDENTIFIED BY 'hunter22';", "hunter22"),
        ("machine example.com login me password hunter22", "hunter22"),
        ("bearer: abcdef0123", "abcdef0123"),
        # in a query
        ("https://s.blob.core.windows.net/c?sv=2021-06-08&sr=c&sig=aBBKDWQvy%2FXTI9E%3D", "aBBKDWQvy"),
        ("https://s.example.com/c?sv=2021&amp;sig=aBBKDWQvy%2FXTI9E%3D", "aBBKDWQvy"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=0123456789abcdef0123", "0123456789abcdef"),
        ("https://fn.example.net/api/f?code=abcdef0123456789abcdef0123==", "abcdef0123456789"),
        ("https://maps.example.com/json?address=x&key=abcdef0123456789abcdef", "abcdef0123456789"),
        # in a URL
        ("mysql+pymysql://root:a/b@db/shop", "a/b"),
        ("https://0123456789abcdef0123@localhost/1", "0123456789abcdef"),
        ("https://hooks.slack.com/services/T0ABCDEF/B0ABCDEF/abcdefgh0123", "abcdefgh0123"),
        ("https://discord.com/api/webhooks/123456/abcdefgh-0123", "abcdefgh-0123"),
        ("https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz0123456/getMe", "klmnopqrst"),
        # headers and other forms of a name with a value
        ("Authorization: abcdef0123", "abcdef0123"),
        ("Authorization: bru12345", "bru"),
        ("Authorization: ApiKey abcdef0123", "abcdef0123"),
        ("authorization=SSWS 00abcdef0123", "00abcdef0123"),
        ("Authorization: AWS4-HMAC-SHA256 Credential=AKID/2024, Signature=abcdef0123", "abcdef0123"),
        ('Authorization: Digest username="me", response="abcdef0123"', "abcdef0123"),
        ("Headers([('authorization', 'abcdef0123')])", "abcdef0123"),
        ("[(b'Authorization', b'Token abcdef0123')]", "abcdef0123"),
        ("{b'password': b'hunter22'}", "hunter22"),
        ("Config(password=Secret('hunter22'))", "hunter22"),
        ('{"password"=>"hunter22"}', "hunter22"),
        ("<Password>hunter22</Password>", "hunter22"),
        ('<ns:apiKey type="s">hunter22</ns:apiKey>', "hunter22"),
        ('{"name": "DB_PASSWORD", "value": "hunter22"}', "hunter22"),
        ('<input name="password" value="hunter22">', "hunter22"),
        ("DB_PASS=hunter22 ./run", "hunter22"),
        ("%22password%22%3A%22hunter22%22", "hunter22"),
        ("&quot;password&quot;:&quot;hunter22&quot;", "hunter22"),
        ("**password**: hunter22", "hunter22"),
        ("Ocp-Apim-Subscription-Key: abcdef0123", "abcdef0123"),
        ("signing_key: abcdef0123", "abcdef0123"),
        # JSON inside JSON
        (r'"{\"password\":\"x\"}"', r":\"x"),
        (r"{\\\"password\\\":\\\"hunter22\\\"}", "hunter22"),
        (r'{"password": "hun\"ter22", "a": 1}', "ter22"),
        (r'"{\"password\": \"hun\\\"ter22\"}"', "ter22"),
        ("\u201cpassword\u201d: \u201chunter22\u201d", "hunter22"),
        # keys in pieces
        (PEM.replace("\n", "\\n"), "MIIEow"),
        (PEM.partition("-----\n")[2].replace("secretsecret", "secretsecretsecret"), "secretsecret"),
        (PEM.replace("\n", "\r\n    "), "secretsecret"),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nAAAAsecret\n---- END", "AAAAsecret"),
    ],
)
def test_secrets_do_not_survive_redaction(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redact(text)
    assert secret not in redact(f"before {text} after")


@pytest.mark.parametrize(
    "unseen", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f", "\U000e0041"]
)
def test_characters_without_a_width_do_not_hide_a_secret(unseen: str) -> None:
    assert "hunter22" not in redact(f"pass{unseen}word: hunter22")
    assert "abcdefghijklmnop" not in redact(f"s{unseen}k-abcdefghijklmnop1234")
    assert "anna" not in redact(f"write to anna{unseen}@example.org")
    assert "4111" not in redact(f"card 4111{unseen}1111 1111{unseen} 1111")


@pytest.mark.parametrize(
    "text",
    [
        "order O-1234 was not found",
        "HTTP 503 from https://api.example.com:8080/v1/orders?page=2",
        "task-management-service: connection refused",
        "expected int, got 12345.678",
        "2024-05-01T12:00:00Z",
        "Unexpected token < in JSON at position 0",
        "Basic authentication failed",
        "bearer authentication is required",
        "--token is required",
        "no host in ASIA-PACIFIC-SOUTHEAST-1",
        "login attempt password incorrect",
        "secretary: Anna, tokenizer: cl100k_base",
        "Unexpected token: punc at line 3",
        'the fields "password", "email" are wrong; the password "" is empty',
        "login failed and the password was reset",
        "password 'must contain a digit', said the server",
        "the following arguments are required: --api-key, --region",
        "usage: deploy [--token TOKEN] [--password <password>] --secret-file PATH",
        "give --password or set $PASSWORD",
        "pass --token with the request",
        "mkdir -p build/output && docker run -p 8080:80 app",
        "psql -h db -p 5432",
        "tar -a report.tar -w 3",
        "This model's maximum context length is 8192 tokens: max_tokens=4096, prompt_tokens: 5000",
        "api_key=None, password: null",
        "password: must be at least 8 characters",
        'duplicate key value violates unique constraint "pk_order_items_by_customer"',
        "git clone ssh://git@internal/orders failed",
        "GET /orders?code=E404&key=status&sig=11",
        "http://[::1]:8080/a@b and http://db:5432/x@y",
        "hooks.py line 3: webhook not registered",
        "task-management-and-scheduling service, risk_assessment_of_customers",
        "org-AbCdEfGhIjKlMnOpQrStUvWx in RateLimitExceededError",
        '["password", "username"] are required',
        "<token> expected, <orders>none</orders> found",
        "Schlüssel „Bestellung“ fehlt … ½ ①",
    ],
)
def test_ordinary_error_texts_stay_readable(text: str) -> None:
    assert redact(text) == text


@given(st.integers(0, DETAIL_LIMIT + 500))
def test_a_secret_is_not_shown_wherever_the_cut_falls(start: int) -> None:
    assert "wxyz" not in redact("x" * start + " api_key=wxyzwxyzwxyzwxyzwxyzwxyz " + "y" * 1_000)
    assert "eyJhb" not in redact("x" * start + " " + JWT + " " + "y" * 1_000)


@given(st.integers(0, 400))
def test_text_that_shrinks_does_not_pull_half_a_secret_into_view(padding: int) -> None:
    text = "a@example.com " * 40 + "x" * padding + " ghp_" + "k" * 500
    assert "kkkk" not in redact(text)


def test_an_unbroken_text_is_cut_not_dropped() -> None:
    assert redact("x" * 5_000) == "x" * (DETAIL_LIMIT - 1) + "…"


@pytest.mark.parametrize(
    "unit",
    [
        "a@", "a.", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----", "password", "password=", "1 ", "1-", "token ",
        "a", "eyJ", "eyJaaaaaaaa.", "sk-", "\\", "http://", "http://a:", ":", "\x1b[", "'", '"', "é", "Bearer  ",
        "--", "--password ", "--a-", "-p ", "mysql -p", "curl ", '"password":\\"', "password=b'", "sig=", "?code=",
        "<password>", "<password ", "authorization: ", "authorization: a ", "('authorization', ", "name='password' value=",
        "\uff1d", "token\uff1a", "%3d", "&quot;", "A" * 64 + "\n", "PRIVATE KEY-----END", "a" * 16 + " ", "ghp_", "key-",
        ";tokens=1", "--eyJ",
    ],
)  # fmt: skip
def test_redaction_takes_linear_time_on_hostile_text(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    redact(text)  # what is shown: a bounded piece of it
    assert time.process_time() - started < 0.5
    small, large = _seconds(text[:20_000]), _seconds(text[:160_000])
    assert large < 50 * small + 0.1, "eight times the text must not cost much more than eight times the work"


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(2):
        started = time.process_time()
        redact(text, len(text))
        best = min(best, time.process_time() - started)
    return best


@given(st.text(), st.integers(1, 400))
def test_redacted_text_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    line = redact(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


@given(st.text(alphabet=st.characters(), max_size=400))
def test_printable_text_holds_no_control_or_direction_characters(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in printable(text))


@given(st.text())
def test_a_tool_name_cannot_leave_its_place_in_a_line(name: str) -> None:
    plain = tool_name(name)
    assert 0 < len(plain) <= 80
    assert not set(plain) & set(" \n<>\"'{}|\\")


# -- totality ------------------------------------------------------------------------------------------------------


def _cyclic() -> Any:
    inner: dict[str, Any] = {}
    inner["self"] = [inner]
    return inner


HOSTILE = [
    Hostile(),
    HostileMapping(),
    {"a": Hostile()},
    {"a": HostileMapping()},
    [Hostile()],
    {Hostile: 1},
    _cyclic(),
    "\ud800",
    {"\ud800": "\udfff"},
    {"\ud800"},
    b"\xff\x00",
    memoryview(b"abc"),
    memoryview(bytearray(8)).cast("I"),
    10**5_000,
    float("nan"),
    {1, "a", None},
    {(1, 2): 3},
    Decimal("1.5"),
    date(2024, 5, 1),
    object(),
    ValueError("\ud800"),
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda v: type(v).__name__)
def test_no_value_of_a_tool_makes_a_helper_raise(value: Any) -> None:
    assert len(text_of(value, 50)) <= 50
    assert len(bounded_json(value, 50)) <= 50
    assert isinstance(canonical(value), bytes)
    assert isinstance(canonical({"argument": value}), bytes)
    assert len(fingerprint("tool\ud800", {"argument": value})) == 32


@pytest.mark.parametrize("value", ['a"} b', "\\", 'a"\ud800', Loud()], ids=repr)
def test_no_text_ends_its_own_quotes(value: Any) -> None:
    texts = json.loads(bounded_json([value, {'key"': value}], 300))
    assert texts[0] == str(value).replace("\ud800", "?")
    assert texts[1] == {'key"': texts[0]}


def test_a_huge_result_is_not_rendered_whole() -> None:
    visited: list[int] = []

    def rows() -> Iterator[int]:
        for i in range(10_000_000):
            visited.append(i)
            yield i

    class Lazy(Mapping[int, int]):
        def __iter__(self) -> Iterator[int]:
            return rows()

        def __getitem__(self, key: int) -> int:
            return key

        def __len__(self) -> int:
            return 10_000_000

    assert len(bounded_json(Lazy(), 300)) == 300
    assert len(visited) < 300


# -- names of calls ------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_arguments_does_not_matter(arguments: dict[str, Any], rng: Any) -> None:
    names = list(arguments)
    rng.shuffle(names)
    assert canonical(arguments) == canonical({name: arguments[name] for name in names})


@given(JSON, JSON)
def test_different_arguments_have_different_names(a: Any, b: Any) -> None:
    if repr(a) == repr(b):
        assert fingerprint("t", a) == fingerprint("t", b)
    elif canonical(a) != canonical(b):
        assert fingerprint("t", a) != fingerprint("t", b)


def test_equal_objects_without_an_equal_repr_have_one_name() -> None:
    class Thing:
        pass

    assert canonical({"x": Thing()}) == canonical({"x": Thing()})
    assert canonical({"x": {2, 1, 3}}) == canonical({"x": {3, 2, 1}})


def test_pydantic_models_are_named_by_their_fields() -> None:
    from pydantic import BaseModel

    class Query(BaseModel):
        text: str

    assert canonical({"q": Query(text="a")}) == canonical({"q": Query(text="a")})
    assert canonical({"q": Query(text="a")}) != canonical({"q": Query(text="b")})


def test_the_name_depends_on_tool_and_key() -> None:
    assert fingerprint("a", {"x": 1}) != fingerprint("b", {"x": 1})
    assert fingerprint("a", {"x": 1}, b"one") != fingerprint("a", {"x": 1}, b"two")
    assert fingerprint("a", {"x": 1}, b"k" * 200) == fingerprint("a", {"x": 1}, b"k" * 64)
