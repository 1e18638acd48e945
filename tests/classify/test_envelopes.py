"""Answers that wrap their verdict: XML, lines of fields, a status beside no data; and records that only look so."""

from __future__ import annotations

from typing import Any

import pytest

from btm.classify import classify
from btm.classify.parsing import fields_of_answer
from btm.model import Effect, ToolCall

WRITE = ToolCall("refund_payment", {}, Effect.WRITE)
READ = ToolCall("get_resource", {}, Effect.READ)
SOAP = '<soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope"><soap:Body>{}</soap:Body></soap:Envelope>'


def kind(result: Any, call: ToolCall = WRITE) -> str:
    return str(classify(call, result).kind or "ok")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "<RefundResponse><Success>false</Success><Text>The payment was not found.</Text></RefundResponse>",
            "not_found",
        ),
        ("<Reply><Result>DECLINED</Result><Id>7</Id></Reply>", "precondition_failed"),
        ("<Reply><Result>APPROVED</Result><Id>7</Id></Reply>", "ok"),
        (SOAP.format("<soap:Fault><faultstring>Access denied</faultstring></soap:Fault>"), "auth_error"),
        (SOAP.format("<PayResponse><Status>OK</Status><Error></Error></PayResponse>"), "ok"),
        ("<Answer>&lt;Response&gt;</Answer>", "ok"),
        (
            "<txn><errorCode>5000</errorCode><errorMessage>The number is invalid.</errorMessage></txn>",
            "invalid_arguments",
        ),
        ('{"status": "Pulling", "id": "a"}\n{"errorDetail": {}, "error": "manifest not found"}', "not_found"),
        ("failed\nInvalid month", "invalid_arguments"),
        ("status=rejected\nid=7\nmessage=The card has expired", "precondition_failed"),
        ("status=approved\nid=7\nmessage=Thank you", "ok"),
        (
            '<OTA_PayRS><Errors><Error Code="97" ShortText="Booking not found"/></Errors></OTA_PayRS>',
            "not_found",
        ),
        (
            '<!DOCTYPE R SYSTEM "http://a.example/r.dtd"><R_Report_Exception><ServiceException>Layer not found'
            "</ServiceException></R_Report_Exception>",
            "not_found",
        ),
        ('<!DOCTYPE R [<!ENTITY a "b">]><Response><Error>&a; not found</Error></Response>', "ok"),
        (
            "<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>5</int></value>"
            "</member><member><name>faultString</name><value><string>No such zone: it does not exist</string>"
            "</value></member></struct></value></fault></methodResponse>",
            "not_found",
        ),
        (
            SOAP.format(
                "<R><arrayErrores><item><codigo>7</codigo><descripcion>Acceso denegado</descripcion></item>"
                "</arrayErrores></R>"
            ),
            "auth_error",
        ),
        ('{"message": "{\\"errors\\":[{\\"code\\":1,\\"info\\":\\"access denied\\"}]}"}', "auth_error"),
        ('callback({"error": "The user was not found"});', "not_found"),
        ('{"data": null, "messages": {"warn": null, "error": ["Access denied"]}}', "auth_error"),
        ('{"data": {"name": "A", "sectionErrorKeys": ["You must choose a language."]}}', "invalid_arguments"),
        ('{"data": {"name": "A", "sectionErrorKeys": []}}', "ok"),
        ('[{"error_point": null, "error_type": "access", "error_message": "Access denied"}]', "auth_error"),
        ('[{"ErrorCode": 0, "Message": "OK", "To": "a@b.c"}]', "ok"),
        ('{"type": "error.list", "errors": [{"code": "tag_was_not_found"}]}', "not_found"),
        (
            '{"result": {"id": "7", "failureStatus": 403, "failureDetail": "no"}, "state": {"code": 0}}',
            "auth_error",
        ),
    ],
)
def test_an_answer_in_xml_or_lines_is_read_like_a_body(answer: str, expected: str) -> None:
    assert kind(answer) == expected


@pytest.mark.parametrize(
    "document",
    [
        "<project><build><status>failed</status></build></project>",
        '<testsuite errors="1"><testcase><error>boom</error></testcase></testsuite>',
        "<OrderStatusResponse><Status>Failed</Status><Id>7</Id></OrderStatusResponse>",
    ],
)
def test_a_document_or_a_record_in_xml_is_what_was_asked_for(document: str) -> None:
    assert kind(document, ToolCall("get_build_status", {}, Effect.READ)) == "ok"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"licence": "ODbL", "results": [], "status": {"code": 402, "message": "quota exceeded"}},
            "quota_exhausted",
        ),
        ({"meta": {"code": 404, "error": {"message": "No such item"}}}, "not_found"),
        (
            {"Data": {"IsSuccessful": False, "ResultMessage": "Invalid number"}, "ResultCode": "Success"},
            "invalid_arguments",
        ),
        ({"code": "AuthenticationFailed", "type": "INPUT", "message": None}, "auth_error"),
        (
            {
                "type": "answer",
                "data": {"intent": "find", "result": {"status": "error", "message": "No such item"}},
            },
            "not_found",
        ),
        (
            {"status": "failed", "message-type": "validation", "message": [{"message": "500 is not valid"}]},
            "invalid_arguments",
        ),
        (
            [{"Error": "8", "Description": "Daily limit exceeded", "Cause": "the limit of the key"}],
            "quota_exhausted",
        ),
        ({"data": {"message": "No such address"}, "status": 404, "headers": {}, "config": {}}, "not_found"),
        ({"summary": {"query": "x", "numResults": 0}, "results": []}, "empty_result"),
        (
            {"status": "ok", "message-type": "list", "message": {"total-results": 0, "items": []}},
            "empty_result",
        ),
        ({"responseHeader": {"status": 0}, "response": {"numFound": 0, "docs": []}}, "empty_result"),
        ({"code": 0, "data": {"id": 1, "remark": "the page timed out, says the client"}}, "ok"),
        ({"status": 200, "body": {"message": "Not Found Records, a shop, opens"}}, "ok"),
    ],
)
def test_a_part_that_speaks_of_the_whole_decides(body: Any, expected: str) -> None:
    assert kind(body, READ) == expected


@pytest.mark.parametrize(
    "record",
    [
        {"id": 7, "type": "Organization", "name": "Acme", "description": "Errors and invalid inputs, explained", "url": "u"},
        {"url": "u", "status": "built", "error": {"message": None}, "pusher": {"login": "ada"}},
        [{"path": "a.md", "start_line": 1, "end_line": 1, "start_column": None, "end_column": None, "title": "Spelling",
          "annotation_level": "warning", "message": "Missing word", "raw_details": None}],
        {"id": "f1", "description": "low on storage", "failure": True, "source": "k8s", "priority": "LOW", "node": "n",
         "cluster": "c", "service": "s", "subject": "p", "labels": {}},
        {"id": "c1", "name": "web", "status": "error", "error_message": "unable to start", "min": 0, "max": 5, "memory": 1,
         "cpu": 1, "image": "i", "port": 80, "privacy": "public", "region": "fr", "tags": [], "sandbox": "v2", "zone": 1,
         "protocol": "http"},
        '{"status": "Pulling from run", "id": "latest"}\n{"status": "Error-free digest", "id": "a"}',
        {"input": {"date": "2022-02-17"}, "output": 605.7},
        {"id": 1, "label": "node", "updated": "2018-01-02T03:04:05"},
        {"enabled": True, "id": 1, "last_update_at": "2020-01-01T00:00:00Z", "url": "u"},
        {"id": "a1", "city": "X", "verifications": {"zip4": {"success": True, "errors": [{"message": "Unit missing"}]}}},
    ],
)  # fmt: skip
def test_a_record_that_speaks_of_errors_is_no_error(record: Any) -> None:
    assert kind(record, ToolCall("get_nodebalancers", {}, Effect.READ, at=1.8e9)) == "ok"


def test_a_short_page_where_data_was_due_is_read_for_what_it_shows() -> None:
    page = "<html><head><title>Acme server</title></head><body><p>{}</p></body></html>"
    assert kind(page.format("HTTP Status 404 - the resource /x is not available"), READ) == "not_found"
    assert kind(page.format("Welcome"), READ) == "malformed"


def test_a_write_that_lists_failures_of_its_own_was_done_in_part() -> None:
    body = {
        "dealId": 7,
        "associationCreateFailures": [{"failReason": "INVALID_IDS", "message": "27 is not valid"}],
    }
    assert kind(body) == "partial_data"
    assert kind({**body, "associationCreateFailures": []}) == "ok"


def test_long_prose_without_an_errors_form_is_suspected_at_most() -> None:
    prose = "To process the data well we should start with its structure; each record must be valid, and none missing. "
    assert kind(prose * 6, ToolCall("delegate_work", {}, Effect.READ)) == "ok"
    assert (
        kind("Traceback (most recent call last):\n" + "  ...\n" * 90 + "ValueError: User 12 not found", READ)
        == "not_found"
    )


def test_entities_are_not_expanded() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><Response>&b;</Response>'
    assert fields_of_answer(bomb)[0] is None


def test_json_with_a_fault_of_form_is_malformed_and_a_looser_form_is_not() -> None:
    assert kind('{"id": "7"\n "name": "a"}', READ) == "malformed"
    assert kind('{"id": "7", "name": "a",}', READ) == "ok"
    assert kind('{"id": "7", "rows": [... 20 more]}', READ) == "ok"


def test_of_several_things_asked_for_some_came() -> None:
    call = ToolCall("get_ranges", {}, Effect.READ)
    came, failed = {"range": "A1", "data": [[1]]}, {"range": "B9", "error": "Unable to parse range"}
    assert kind([came, failed], call) == "partial_data"
    assert kind([{**came, "error": "a note"}, {**came, "error": None}], call) == "ok"
    assert kind([{"job": 1, "error": "timed out"}, {"job": 2, "error": None}], call) == "ok"


def test_rows_below_a_line_of_words_are_what_was_found() -> None:
    text = 'Total results: 1, showing 1.\n[{"level": "ERROR", "msg": "upstream timed out"}]'
    assert kind(text, ToolCall("search", {}, Effect.READ)) == "ok"


def test_a_tool_of_documents_that_says_what_it_failed_to_do_has_failed() -> None:
    said = "Failed to query documents from collection 'notes': expected dimension 384, got 768"
    assert kind(said, ToolCall("query_documents", {}, Effect.READ)) == "invalid_arguments"


@pytest.mark.parametrize(
    ("said", "tool", "expected"),
    [
        ("Backlog API error (code: 6, status: 404)\nNo issue.", "get_issue", "not_found"),
        ("❌ Error: Missing EXPORT_PATH in .env file.", "export_route", "precondition_failed"),
        ("ID: 12 | Ann: the deploy failed", "get_messages", "ok"),
        ("No route found from Berlin to Honolulu", "get_directions", "not_found"),
        ("No authenticated accounts found. Add one.", "list_calendars", "auth_error"),
    ],
)
def test_what_servers_of_agents_say(said: str, tool: str, expected: str) -> None:
    assert kind(said, ToolCall(tool, {}, Effect.READ)) == expected


def test_a_status_beside_a_message_is_of_the_answer_whatever_else_is_told() -> None:
    body = {
        "status": 404,
        "message": "The key does not exist.",
        "results": {"stackTrace": "at A"},
        "duration": 0,
    }
    assert kind(body, READ) == "not_found"
    assert kind({**body, "message": "Highway to the sea"}, READ) == "ok"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "<n:Status><n:result>ERROR</n:result><n:resultDetail>Could not find the rule</n:resultDetail></n:Status>",
            "not_found",
        ),
        (
            "<response><responseCode>RESOURCE_NOT_FOUND</responseCode><message>It was not found</message></response>",
            "not_found",
        ),
        ("<response><responseCode>IN_PROGRESS</responseCode><message>Cleaning</message></response>", "ok"),
        (
            "<TrackReply><Severity>SUCCESS</Severity><Details><Note><Severity>FAILURE</Severity>"
            "<Message>No such parcel was found</Message></Note></Details></TrackReply>",
            "not_found",
        ),
        ("<deleteResponse><return>Record does not exist</return></deleteResponse>", "not_found"),
        (
            '{"status": "failure", "errorCode": "9", "errorMessage": "Access denied", "requestId": "7"}',
            "auth_error",
        ),
        ('{"messages": [{"status": "1", "error-text": "Rate limit exceeded"}]}', "rate_limit"),
        (
            '{"redirect": {"type": ["is not included in the list"], "name": ["can\'t be blank"]}}',
            "invalid_arguments",
        ),
        ('{"code": "rest_x", "message": "Invalid post ID.", "data": {"status": 404}}', "not_found"),
        ("アップロードに失敗: ファイルが見つかりません: a.pdf", "not_found"),
    ],
)
def test_a_verdict_of_a_write_is_read_wherever_it_stands(answer: str, expected: str) -> None:
    assert kind(answer, ToolCall("create_payment", {}, Effect.WRITE)) == expected


def test_what_speaks_of_errors_beside_data_is_a_part_of_the_record() -> None:
    record = "<data><name>A</name><id>7</id></data>"
    notes = "<errorTaxes><error>Some taxes are not known</error><mensaje>No</mensaje></errorTaxes>"
    assert kind(f"<getResponse>{record}{notes}</getResponse>", READ) == "ok"


def test_a_table_with_a_column_of_errors_is_a_table() -> None:
    table = 'NAME      ENDPOINT    ERROR\ndefault   unix:///d    \nold *                 context "old" not found\n'
    assert kind(table, ToolCall("list_contexts", {}, Effect.READ)) == "ok"
