"""Bodies of a failing code and words, in any language; a write whose status says that it was not done."""

from __future__ import annotations

from typing import Any

import pytest

from btm import Effect, ToolCall
from btm.classify.engine import classify


def fails(body: Any, tool: str = "charge_card", effect: Effect = Effect.WRITE) -> bool:
    return classify(ToolCall(tool, {}, effect), body).kind is not None


@pytest.mark.parametrize(
    "body",
    [
        {"Code": 4002001, "Message": "銘柄が見つかりません"},
        {"rt_cd": "1", "msg_cd": "KX00123", "msg1": "기간이 지난 토큰입니다."},
        {"RspCode": "97", "Message": "Chữ ký sai"},
        {"resultCode": 13010, "resultMsg": "شماره نامعتبر است", "data": None},
        {"status": "failed", "failed_reason_code": "9", "failed_reason_msg": "Bu kart kullanılamaz."},
        {"reference": "A7", "transactionStatus": "Declined", "reasonCode": 1101, "reason": "Банк відмовив"},
        {"response": {"status": "failed", "code": "F.0100", "message": "Карта заблокирована."}},
        {
            "ocs": {
                "meta": {"status": "failure", "statuscode": 403, "message": "Sdílení zakázáno"},
                "data": [],
            }
        },
        {"status": "error", "messages": "Eszköz törölve.", "payload": None},
    ],
)
def test_a_failing_code_with_words_and_nothing_else_is_a_refusal(body: Any) -> None:
    assert fails(body)


@pytest.mark.parametrize(
    "body",
    [
        {"Code": 0, "Message": "銘柄を登録しました"},
        {"code": 1000, "message": "操作成功"},
        {"rt_cd": "0", "msg_cd": "MCA00000", "msg1": "정상처리 되었습니다.", "output": {"price": 7}},
        {"code": 3021, "message": "Ваш заказ выполнен"},
        {"zip_code": "10115", "text": "Berlin Mitte, Invalidenstraße"},
        {"code": 5021, "message": "Blaue Vase, handbemalt", "price": 40, "stock": 3},
        {"id": 7, "status": "declined", "reason": "no seats left", "amount": 12},
    ],
)
def test_an_answer_with_a_code_of_success_words_of_success_or_data_is_none(body: Any) -> None:
    assert not fails(body, "get_record", Effect.READ)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("git_pull", "Already up-to-date."),
        ("update_server", "Web one is already up to date - no rebuild needed."),
        ("remove_package", "pulling from /srv/site\nno changes found\n"),
        ("upgrade", "node 22.1 is already the latest version"),
    ],
)
def test_nothing_left_to_do_is_no_failure(tool: str, text: str) -> None:
    assert not fails(text, tool)


def test_nothing_left_to_do_beside_a_failure_does_not_hide_it() -> None:
    assert fails("error: nothing to commit, the lock file is held by another process", "commit")


@pytest.mark.parametrize(
    "text",
    [
        "The rollout timed out, no updates available from the cluster",
        "Nothing to install: could not find a version that satisfies the requirement foo",
        "Already up to date check failed: timeout",
    ],
)
def test_an_idle_word_does_not_hide_a_failure_without_a_mark(text: str) -> None:
    assert fails(text, "install")


@pytest.mark.parametrize(
    "body",
    [
        {"code": "CS101", "message": "Introduction to programming"},
        {"code": "LH441", "message": "Boarding at gate B12"},
        {"code": 49, "message": "Germany and its lands"},
        {"code": "SAVE20", "message": "Twenty percent off"},
    ],
)
def test_a_small_record_with_a_code_is_no_refusal(body: Any) -> None:
    assert not fails(body, "get_course", Effect.READ)


@pytest.mark.parametrize(
    "body",
    [
        {"code": "99213", "description": "Office visit, established patient"},
        {"code": "516.3", "description": "Analytic geometries"},
        {"weather_code": 502, "text": "heavy intensity rain"},
        {"code": 4301, "text": "Edelstahl, rostfrei"},
        {"code": "P0301", "description": "Cylinder 1 misfire detected"},
        {"status": "cancelled", "code": "BA456", "description": "Cancelled due to snow"},
    ],
)
def test_a_code_and_its_description_are_what_was_looked_up(body: Any) -> None:
    assert not fails(body, "lookup_entry", Effect.READ)


@pytest.mark.parametrize(
    "body",
    [
        {"code": 4004, "description": "No such order exists"},
        {"code": "ERR-77", "description": "Access denied"},
        {"code": 1102, "text": "La commande est introuvable"},
        {"errcode": 5, "description": "session expired"},
    ],
)
def test_a_description_that_tells_of_a_failure_is_none(body: Any) -> None:
    assert fails(body, "lookup_entry", Effect.READ)


@pytest.mark.parametrize(
    ("code", "done", "undone"),
    [
        (12, "Beställningen har skapats", "Beställningen kunde inte skapas"),
        (1001, "Objednávka byla vytvořena", "Objednávka nebyla vytvořena"),
        (9, "Comanda a fost înregistrată", "Comanda nu a fost înregistrată"),
        (31, "Замовлення прийнято", "Замовлення не прийнято"),
        (8001, "訂單已建立", "訂單未建立"),
        ("S300", "주문이 접수되었습니다", "주문이 접수되지 않았습니다"),
        (77, "Su solicitud fue recibida", "Su solicitud no fue recibida"),
        (33, "Paiement accepté", "Paiement non accepté"),
        (8, "Prenotazione confermata", "Prenotazione non confermata"),
        (5, "Sipariş oluşturuldu", "Sipariş oluşturulamadı"),
        (7, "O pedido foi criado", "O pedido já foi criado"),
        (3, "Der Termin ist bestätigt", "Der Termin muss bestätigt sein"),
        (12, "El pedido fue creado", "El pedido creado contiene errores"),
        (4, "E-mail registrado", "E-mail registrado inválido"),
        (6, "Заказ создан", "Заказ создан, но отклонён"),
    ],
)
def test_a_code_of_its_own_is_none_of_failure_beside_words_of_success(
    code: Any, done: str, undone: str
) -> None:
    assert not fails({"code": code, "message": done})
    assert fails({"code": code, "message": undone})


@pytest.mark.parametrize(
    "body",
    [
        {"kod": 8, "poruka": "Nedovoljno sredstava"},
        {"codigo": 51, "mensagem": "Saldo insuficiente"},
        {"koodi": 9, "viesti": "Kortti hylätty"},
        {"код": 17, "сообщение": "Карта заблокирована"},
        "<respuesta><codigo>15</codigo><mensaje>Saldo insuficiente</mensaje></respuesta>",
        "<risposta><esito>KO</esito><messaggio>Utente non trovato</messaggio></risposta>",
        "<ответ><код>5</код><сообщение>Заказ не найден</сообщение></ответ>",
    ],
)
def test_codes_and_words_have_names_in_other_languages(body: Any) -> None:
    assert fails(body)


@pytest.mark.parametrize(
    "body",
    [
        {"code": "00", "message": "Transaksi berhasil"},
        {"responseCode": "00", "responseMessage": "Transaction in order"},
        {"code": 250, "message": "Requested mail action okay"},
        {"codigo": 0, "mensaje": "Pago realizado"},
        "<resposta><codigo>00</codigo><mensagem>Pedido criado</mensagem></resposta>",
    ],
)
def test_zeros_and_numbers_from_200_are_codes_of_success(body: Any) -> None:
    assert not fails(body)


@pytest.mark.parametrize(
    ("tool", "body"),
    [
        ("issue_ticket", {"code": "QX-8812", "message": "Show this code at the gate"}),
        ("generate_otp", {"code": "483920", "message": "Enter this code within 5 minutes"}),
    ],
)
def test_a_code_that_was_made_is_what_was_asked_for(tool: str, body: Any) -> None:
    assert not fails(body, tool)
    assert fails({**body, "message": "The event is sold out, nothing was reserved"}, tool)
