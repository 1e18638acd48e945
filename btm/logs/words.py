"""The one table of where logs keep things: what a call is called, and where its name, arguments, answer and flag lie.

Every product names the same few things in its own way (``toolUseId``, ``tool_call_id``, ``callID``). Names are compared
in their plain form, lower-case letters only, so that one entry stands for all ways of writing it; the first entry of a
row that is there counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any


class Sense(Enum):
    """What a word says that a piece of a log is."""

    NOTHING = "nothing"
    CALL = "call"
    ANSWER = "answer"


NAME = ("toolname", "functionname", "funcname", "apiname", "name", "tool", "function", "recipientname")
ARGUMENTS = (
    "arguments", "args", "input", "toolargs", "toolarguments", "toolinput", "toolkwargs", "functionargs", "kwargs",
    "rawinput", "rawargs", "actioninput", "argumentsjson", "inputjson", "paramsasjson", "params",
)  # fmt: skip
CALL_ID = (
    "toolcallrequestid", "toolcallid", "tooluseid", "callid", "toolid", "invocationid", "id", "requestid",
)  # fmt: skip
ANSWERS_ID = (
    "toolcallrequestid", "toolcallid", "tooluseid", "mcptooluseid", "customtooluseid", "callid", "toolid", "invocationid",
    "parenttooluseid", "sourcecallid", "actionid", "requestid", "id",
)  # fmt: skip
RESULT = (
    "output", "result", "content", "response", "tooloutput", "toolresult", "toolreturn", "observation", "results", "outputs",
    "returnvalue", "resultvalue", "aggregatedoutput", "value", "parts", "blocks", "body",
)  # fmt: skip
OWN_RESULT = ("output", "result", "response", "tooloutput", "toolresult", "outputs", "returnvalue", "aggregatedoutput",
              "observation", "rawoutput", "stdout", "resultsummary", "resultpreview", "outputpreview")  # fmt: skip
"""Where a call holds its own answer: ``content`` beside arguments is the agent's."""

KIND = (
    "type", "kind", "partkind", "contenttype", "blocktype", "eventtype", "event", "classname", "messagetype", "recordtype",
)  # fmt: skip
SAID_ROLE = ("role", "from")
ROLE = (*SAID_ROLE, "info", "source", "author", "sender", "speaker", "type", "kind", "event")
WHEN = ("timestamp", "createdat", "time", "at", "created", "ts", "starttime", "startedat", "date")
TEXT = ("text", "value", "content", "message", "markdown")
TEXTS = ("content", "contents", "parts", "blocks", "items", "text", "value", "prompt", "query")
"""Where a message keeps its words."""

REASONING = ("thinking", "reasoning", "reasoningcontent", "thought", "thoughts", "analysis")
CALLS = ("toolcalls", "toolrequests", "tooluses", "functioncalls", "functioncall", "toolcall", "invalidtoolcalls",
         "usedtools", "agentthoughts")  # fmt: skip
ANSWERS = ("toolresults", "functionresponses", "toolresponses", "tooluseresults", "observation")
CONTAINERS = (*CALLS, "content", "contents", "parts", "blocks", "items", "toolinvocations", *ANSWERS)
"""Where a message keeps its parts, in the order in which they are to be read."""

ENVELOPES = ("message", "payload", "data", "item", "llmmessage", "event", "msg", "update", "body",
             "messagedata", "rawitem", "raw")  # fmt: skip
"""Under what a line of a transcript wraps its message."""

TYPED = ("part", "value", "result")
"""Under what it may wrap a call or an answer, which then says itself what it is."""

PASSED_OVER = frozenset(("eventmsg", "streamevent", "toolcallsummarymessage", "compacted"))
"""Kinds of lines that tell again what other lines of the same log have told."""

ERROR = ("error", "pluginerror")
ERROR_TEXT = ("errortext", "errormessage", "errordetails", "exception")
FLAGS = ("iserror", "toolcallerror", "haserror", "iserrored", "failed", "iserr")
SUCCESS = ("success", "ok", "succeeded", "callok")
TOOK = ("durationms", "elapsedms", "latencyms", "duration", "elapsed", "latency")
"""How long a call took: what has that and no error went well."""

STATUS = ("status", "state", "outcome", "executionstatus", "resulttype", "level", "type")
INNER = ("output", "content", "value", "result", "text", "blocks", "response", "parts", "outputs")
"""Under what a framework's wrapping of an answer keeps the answer."""

EXIT_CODE = ("exitcode", "returncode", "exitstatus")
WENT_WELL = frozenset(("success", "succeeded", "completed", "complete", "ok", "done"))
FAILED = frozenset(
    ("error", "failed", "failure", "errored", "outputerror", "errortext", "errorjson", "toolerror", "retried", "incomplete",
     "timedout", "timeout", "statuscodeerror", "exception", "fail", "fatal", "critical")
)  # fmt: skip

_LETTERS = re.compile(r"[^a-z]+")
_THING = (
    r"(?:tool|function|shell|mcp|computer|plugin|skill|websearch|filesearch|codeinterpreter|codeexecution)"
)
_ANSWERS = re.compile(
    rf"{_THING}\w*?(?:results?|outputs?|returns?|responses?|errors?|completed?|finished|end(?:ed)?|failed|executionevent"
    r"|observation)(?:event|content|part|block|item|message)?$"
)
_CALLS = re.compile(
    rf"{_THING}\w*?(?:calls?|uses?|usage|requests?|requested|start(?:ed)?|begin|invocations?(?:serialized)?)"
    r"(?:event|content|part|block|item|requestevent)?$"
)
_BOTH = frozenset(
    ("tool", "function", "dynamictool", "toolformerdata", "commandexecution", "actionevent", "toolinputavailable",
     "toolinputerror")
)  # fmt: skip
_ANSWER_WORDS = frozenset(
    ("retryprompt", "observationevent", "agenterrorevent", "commandoutput", "tooloutputavailable")
)
_HYPHENATED = frozenset(
    ("toolcall", "toolresult", "toolerror", "toolreturn", "toolinvocation", "tooluse", "toolresponse", "tooloutput",
     "tooloutputdenied", "toolapprovalrequest", "toolapprovalresponse", "toolinputstart", "toolinputdelta", "toolinputend",
     "toolcalldelta", "toolcallstreamingstart", "toolinputavailable", "toolinputerror", "tooloutputavailable",
     "tooloutputerror")
)  # fmt: skip


@lru_cache(maxsize=4_096)
def plain(name: str) -> str:
    """Return a name in its plain form: letters only, lower case."""
    return _LETTERS.sub("", name.lower())


def fields(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a piece's fields under their plain names; of two that are the same the one that says something counts."""
    found: dict[str, Any] = {}
    for key, value in part.items():
        name = plain(key)
        if found.get(name) is None:
            found[name] = value
    return found


def first(found: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of these fields that is there and not null."""
    for name in names:
        if (value := found.get(name)) is not None:
            return value
    return None


@lru_cache(maxsize=4_096)
def sense(word: str) -> Sense:
    """Return what a type's, key's or class's name says that it is of."""
    name = plain(word)
    if word.startswith("tool-") and name not in _HYPHENATED:  # the AI SDK's tool-NAME
        return Sense.CALL
    if name in _BOTH:
        return Sense.CALL
    if name in _ANSWER_WORDS or _ANSWERS.search(name):
        return Sense.ANSWER
    if _CALLS.search(name):
        return Sense.CALL
    return Sense.NOTHING


_SPEAKERS = {
    **dict.fromkeys(("assistant", "model", "ai", "gpt", "agent", "bot", "gemini", "aimessagechunk", "chatbot"), "assistant"),
    **dict.fromkeys(("response", "agentmessage", "api"), "assistant"),
    **dict.fromkeys(("user", "human", "request"), "user"),
    **dict.fromkeys(("tool", "function", "toolresult", "observation", "toolresponse", "ipython"), "tool"),
    **dict.fromkeys(("system", "developer", "environment"), "system"),
}  # fmt: skip


@lru_cache(maxsize=4_096)
def speaker(word: str) -> str:
    """Return who speaks where a role or type is called so: "assistant", "user", "tool", "system", or "" for nobody."""
    name = plain(word)
    return _SPEAKERS.get(name) or _SPEAKERS.get(name.removesuffix("message").removesuffix("prompt"), "")
