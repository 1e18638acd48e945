"""The field names and words by which JSON answers say how a request went."""

from __future__ import annotations

import re

from btm.classify.finding import names

ERRORS = tuple(
    """error errors Error Errors err exception fault errorMessage error_message errorMessages error_msg
        errmsg errMsg error_description errorDescription errorCode error_code errcode errno error_type
        ErrorCode __type failure fehler Fehler erreur errore erro エラー 错误 錯誤 fehlermeldung
        mensaje_error Message errorType error_reason""".split()  # noqa: SIM905
)
NUMBERED_ERRORS = names("errcode error_code errorCode ErrorCode errno")
"""Error fields in which a number is a code; in the others it is a count."""

MESSAGES = tuple(
    """message msg detail Message error_description description reason title details error_message
        errorMessage errmsg meldung mensaje メッセージ 消息 text hint info statusText status_message body""".split()  # noqa: SIM905
)
STATUSES = tuple(
    """status status_code statusCode http_status httpStatus http_code httpCode response_code StatusCode
        code error_code errorCode""".split()  # noqa: SIM905
)
SHARED_STATUSES = names("status code error_code errorCode")
"""Status fields that records use, too, for numbers of their own."""

CODES = tuple(
    """code error_code errorCode Code error type reason status __type name err errcode error_type sub_code
        errorType subcode errorcode""".split()  # noqa: SIM905
)
META = names(
    """message msg detail details description hint documentation_url request_id requestid trace_id traceid
        code type status timestamp retry_after global title instance path status_code statuscode help docs
        url success ok data result more_info retryable req_id correlation_id info link reason errors error
        warning x-request-id id_request error_code retry_after_ms support"""
)
"""Fields of an error body that are no payload, in lower case."""

ANSWER = names("headers body content text response statusText reason")
NOT_WORDS = names("trace_id domain request_id loc input path url ctx documentation_url")
"""Fields of an error body whose text does not say what went wrong."""

FLAGS = names("success ok Success succeeded isSuccess is_success")
EXITS = ("exit_code", "exitCode", "returncode", "exit_status", "return_code")
WORDY = names("status state outcome result type name reason title")
"""Telling fields that mostly hold a harmless word."""

TELLING = (
    frozenset(ERRORS + STATUSES + EXITS)
    | FLAGS
    | names("detail message msg ResponseMetadata state outcome result")
)
"""A mapping without any of these, at its top, tells of no failure."""

BAD_STATUS = names(
    "error fail failed failure exception ko err rejected denied unsuccessful timeout timed_out not_found"
)
FIRM_BAD = names("error fail exception ko err failure")
IN_PART = names(
    "completed_with_errors partial partial_success partially_completed partially_failed partial_failure"
)
GOOD_CODES = names("0 00000 200 201 202 204 ok success succeeded 2xx 0000 000000 20000")
NO_ERROR = names("none null ok success false 0 n/a undefined") | {"", "no error", "no errors"}
GOOGLE_STATUS = names(
    "OVER_QUERY_LIMIT OVER_DAILY_LIMIT REQUEST_DENIED INVALID_REQUEST UNKNOWN_ERROR MAX_ELEMENTS_EXCEEDED"
)

RECORD_TOOL = re.compile(
    r"(?:^|_)(?:status|job|jobs|run|build|pipeline|deploy\w*|task|payment|transaction|workflow|order|history|check"
    r"|test\w*|validate\w*|lint|log\w*|error\w*|incident\w*|alert\w*|event\w*|delivery|import|export|execution"
    r"|webhook\w*|audit|monitor|health|report)(?:$|_)",
    re.IGNORECASE,
)
"""Tools that read records of things that can fail themselves."""

ERROR_TOOL = re.compile(
    r"error|log|incident|alert|exception|failure|fault|crash|issue|lint|valid|check|test|parse|analy|debug|diagnos"
    r"|review|audit|scan",
    re.IGNORECASE,
)
"""Tools whose answer lists errors of something else."""

CODE_TOOL = re.compile(r"error|fault|status_code|http_code|exception", re.IGNORECASE)
"""Tools that explain errors."""
