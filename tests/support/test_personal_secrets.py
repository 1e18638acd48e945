"""Secrets of people: none of them is left in a text, and a text without them stays as it is."""

from __future__ import annotations

import pytest

from btm.support.redaction import without_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("no user anna%40example.com here", "anna"),
        ("GET /?JSESSIONID=1A2B3C4D5E6F7A8B failed", "1A2B3C4D"),
        ("PHPSESSID: q9v8h7g6f5d4s3a2", "q9v8h7g6"),
        ("bot 1234567890:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawq refused", "AAHdq"),
        ("token MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ZnCjm1"),
        ("wallet 0x52908400098527886E0F7030069857D2E4169EE7 is locked", "52908400"),
        ("send to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "qar0srrr"),
        ("private key 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", "5HueCGU8"),
        ("address 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "1BvBMSEY"),
        (
            "seed phrase: abandon ability able about above absent absorb abstract absurd abuse access accident",
            "abstract",
        ),
        ("client-key-data: LS0tLS1CRUdJTiBSU0E", "LS0tLS1"),
        ("consumer_key = 9f8e7d6c5b4a", "9f8e7d6c"),
        ("IBAN DE89 3704 0044 0532 0130 00 rejected", "0532"),
        ("account GB29NWBK60161331926819", "60161331"),
        ("ssn 078-05-1120 unknown", "078-05-1120"),
        ("Social Security Number: 078051120", "078051120"),
        ("PIN: 4821", "4821"),
        ("your one-time code is 482913", "482913"),
        ("OTP 482913 expired", "482913"),
        ("Passwort: geheim99", "geheim99"),
        ("401: Passwort: GHdOEcmVnrF", "GHdOEcmVnrF"),
        ("contrase\u00f1a='BcwDVmVYsjg', usuario=ana", "BcwDVmVYsjg"),
        ("mot de passe : secret99", "secret99"),
        ("la contrase\u00f1a es secreto99", "secreto99"),
        ("senha: segredo99", "segredo99"),
        ("wachtwoord=geheim99", "geheim99"),
        ("the password is hunter22", "hunter22"),
        ("\u043f\u0430\u0440\u043e\u043b\u044c: sekret99", "sekret99"),
        ("\u5bc6\u7801\uff1ahunter22", "hunter22"),
    ],
)
def test_a_personal_secret_is_replaced(text: str, secret: str) -> None:
    for around in ("{}", 'error: "{}"', "{}.", "\u2026 {} \u2026"):
        assert secret not in without_secrets(around.format(text))


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 503 Service Unavailable: try again in 30 s",
        "order W2378156 not found, code 404",
        "commit 0x1f not found; status code 500",
        "password is required and must be 8 characters",
        "Passwort ist falsch",
        "session expired: log in again",
        "the seed is 42",
        "flight AA1234 on 2024-05-15 at 10:30:00",
        "pin the version to 1.2.3",
        "error code: 1205, deadlock",
        "client secret is missing",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Passwort: erforderlich",
        "contrase\u00f1a: incorrecta",
        "mot de passe : requis",
        "password: null",
        "Kennwort: ung\u00fcltig",
    ],
)
def test_what_a_form_says_about_a_password_stays_readable(text: str) -> None:
    assert without_secrets(text) == text
