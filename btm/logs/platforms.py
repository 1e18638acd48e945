"""Calls as tracing platforms record them: a record or span a call, whose kind says that it is a tool's.

OpenTelemetry's and OpenInference's conventions, Langfuse, LangSmith, Datadog, Weave, the OpenAI Agents SDK and others differ
in names only. A record is laid out flat (``meta.span.kind`` and ``{"meta": {"span": {"kind"}}}`` are the same), and one
table says where each thing is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.answers import answer_of, failed
from btm.logs.conversation import NO_RESULT
from btm.logs.finding import both_sides
from btm.logs.loose import Asked, Loose, LooseCall, TracedFunction
from btm.logs.modelcalls import events_of, messages_in
from btm.logs.shapes import unwrapped
from btm.logs.spans import attributes_of, flat_span, spans_in
from btm.logs.values import is_control_flow, number_of, parsed_json, printed_arguments, rows_in, time_of
from btm.logs.words import ANSWERS_ID, RESULT, fields, first, plain

_KIND = (
    "openinferencespankind", "traceloopspankind", "mlflowspantype", "langfuseobservationtype", "runtype", "spandatatype",
    "spanattributestype", "metaspankind", "metakind", "attributesspankind", "attributesmetaspankind", "attributeskind",
    "attributesweavekind", "attributesgenkitmetadatasubtype", "observationtype", "spankind", "spantype", "eventtype",
    "type", "kind",
)  # fmt: skip
_TOOLS = frozenset(("tool", "function", "executetool", "toolcall", "mcptool", "agentictoolinvocation"))
_NAME = ("genaitoolname", "attributesgenkitname", "entityname", "spandataname",
         "spanattributesname", "toolname", "aitoolcallname", "toolcallfunctionname",
         "traceloopentityname", "mcptoolname", "attributesname", "name", "opname", "displayname", "eventname")  # fmt: skip
_INPUT = ("genaitoolcallarguments", "toolarguments", "toolinput", "aitoolcallargs", "aitoolcallinput",
          "gcpvertexagenttoolcallargs",
          "traceloopentityinput", "mlflowspaninputs", "langfuseobservationinput", "spandatainput", "metainputvalue",
          "metainput", "attributesinputvalue", "attributesmetainputvalue", "inputvalue", "inputs", "input",
          "attributesinput", "attributesgenkitinput", "propertiesaiinput", "toolcallfunctionarguments",
          "toolparameters")  # fmt: skip
_OUTPUT = ("genaitoolcallresult", "toolresponse", "tooloutput", "aitoolcallresult", "aitoolcalloutput",
           "gcpvertexagenttoolresponse",
           "traceloopentityoutput", "mlflowspanoutputs", "langfuseobservationoutput", "spandataoutput", "metaoutputvalue",
           "metaoutput", "attributesoutputvalue", "attributesmetaoutputvalue", "outputvalue", "outputs", "output",
           "attributesoutput", "attributesgenkitoutput", "propertiesaioutputchoices")  # fmt: skip
_CALL_ID = ("genaitoolcallid", "aitoolcallid", "toolcallid", "toolid")
_TRACE = ("traceid", "attributestraceid", "rootspanid", "propertiesaitraceid")
_OWN = ("spanid", "attributesspanid", "id", "observationid", "eventid")
_PARENT = ("parentobservationid", "traceparentid", "parentid", "attributesparentid", "parentspanid", "spanparents",
           "parentrunid")  # fmt: skip
_START = ("startns", "starttimems", "attributesstartns", "attributesstartms", "starttime", "startedat", "metricsstart",
          "start", "timestampsstartedat", "createdat", "timestamp")  # fmt: skip
_END = ("endtime", "endtimems", "endedat", "metricsend", "timestampsfinishedat", "end")
_SESSION = ("genaiconversationid", "sessionid", "threadid", "conversationid", "attributessessionid")
_ERROR = ("error", "metaerrormessage", "metaerror", "attributeserror", "attributeserrormessage", "exception", "errorinfo",
          "statusmessage")  # fmt: skip
_ERROR_TYPE = ("errortype", "metaerrortype", "errorinfoexceptiontype")
_STATUS = (
    "attributesgenkitstate", "status", "attributesstatus", "genaitoolstatus", "level", "otelstatuscode", "statuscode"
)  # fmt: skip
_INSIDE = frozenset(("meta", "span", "attributes", "input", "output", "spandata", "spanattributes", "metrics", "weave",
                     "errorinfo", "timestamps", "properties", "tool"))  # fmt: skip
_CHILDREN = ("content", "observations", "spans", "children", "child_runs", "calls", "data", "traces", "runs", "rows",
             "events", "results", "result", "child_spans", "root_span_dumps", "trace_children")  # fmt: skip
_PREFIX = re.compile(r"^(?:execute_tool|running tool:?|tool:)\s+")
_DEPTH = 8


def parse(record: Any) -> Iterator[Loose]:
    """Give the calls of tools and models of a record and of those within it."""
    if not isinstance(record, dict | list):
        raise ValueError(f"expected an object, found {type(record).__name__}")  # noqa: TRY004 - it is MALFORMED
    yield from _calls(record, "", 0)


def _calls(record: Any, trace: str, depth: int) -> Iterator[Loose]:
    if isinstance(record, list):
        for item in record:
            if isinstance(item, dict | list) and depth < _DEPTH:
                yield from _calls(item, trace, depth + 1)
        return
    if not isinstance(record, dict):
        return
    if rows := rows_in(record):
        yield from _calls(rows, trace, depth + 1)
        return
    flat = _laid_out(record)
    trace = trace or (str(flat.get("spanid") or "") if "childspans" in flat else "")  # W&B's tree is a trace
    kind = first(flat, _KIND)
    own = _trace_of(flat)
    if (_is_tool(flat) or _gives_tool_message(flat)) and first(flat, _NAME) is not None and (own or trace):
        yield tool_call(flat, own or trace)
    else:
        trace = own or trace if own or kind is not None else str(flat.get("id") or trace)
        if trace and (messages := both_sides(first(flat, _INPUT), first(flat, _OUTPUT))):
            session = (
                "" if "runtype" in flat else str(first(flat, _SESSION) or "")
            )  # LangSmith's is the project
            yield Asked(trace, session, messages, time_of(first(flat, _START)))
        elif _is_function(flat):
            yield TracedFunction(_tool_of(str(first(flat, _NAME))))
    for key in _CHILDREN:
        if isinstance(inner := parsed_json(record.get(key)), list | dict) and depth < _DEPTH:
            if isinstance(inner, dict) and key == "spans":  # Genkit's, by their ids
                inner = [*inner.values()]
            yield from _calls(inner, trace, depth + 1)


def _laid_out(record: Mapping[str, Any]) -> dict[str, Any]:
    flat = {**_carried(record), **dict(_flat(record, "", 0))}
    told = record.get("results") if "child_spans" in record else None
    if isinstance(told, list) and told and isinstance(told[0], dict):
        flat |= {name: told[0].get(name) for name in ("inputs", "outputs")}
    return flat


def _carried(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of the span that a record was made of (Langfuse keeps them in ``metadata``)."""
    metadata = record.get("metadata")
    if not ((isinstance(metadata, str) and '"attributes"' in metadata) or isinstance(metadata, dict)):
        return {}
    metadata = parsed_json(metadata)
    attributes = parsed_json(metadata.get("attributes")) if isinstance(metadata, dict) else None
    named = attributes.items() if isinstance(attributes, dict) else ()
    return {plain(str(name)): value for name, value in named}


def _gives_tool_message(flat: Mapping[str, Any]) -> bool:
    """Whether what a record gave back is the tool message of the tool that it is called after (LangChain's callbacks)."""
    given = first(flat, _OUTPUT)
    if type(given) is str and '"tool_call_id"' not in given:
        return False
    message, _ = unwrapped(held) if isinstance(held := parsed_json(given), dict) else (None, None)
    found = fields(message) if isinstance(message, dict) else {}
    return bool(first(found, ("toolcallid",))) and found.get("name") == first(flat, ("name",))


def spans(record: Any) -> Iterator[LooseCall | Asked]:
    """Give the calls of tools and models among spans of OpenTelemetry's form."""
    for given in spans_in(record):
        attributes = attributes_of(given)
        flat = flat_span(given, attributes)
        session = str(first(flat, ("genaiconversationid", "sessionid")) or "")
        if _is_tool(flat):
            if first(flat, _INPUT) is None and first(flat, _OUTPUT) is None:
                said = {message["role"]: message.get("content") for message in events_of(given)}
                flat |= {"input": said.get("tool"), "output": said.get("assistant")}
            yield tool_call(flat, session or flat["traceid"])
        elif messages := messages_in(attributes, given):
            yield Asked(flat["traceid"], session, messages, flat["starttime"])


def events(record: Any) -> Iterator[LooseCall]:
    """Give the tool call that an event of LangChain's ``astream_events`` begins or ends."""
    kind = record.get("event")
    if kind not in ("on_tool_start", "on_tool_end", "on_tool_error"):
        return
    about, parents = record.get("metadata") or {}, record.get("parent_ids") or [""]
    flat = {plain(key): value for key, value in record["data"].items()}
    flat |= {"name": record["name"], "id": record["run_id"], "extra": {"metadata": about}}
    trace = str(about.get("thread_id") or parents[0] or record["run_id"])
    yield tool_call(flat, trace)


def _is_tool(flat: Mapping[str, Any]) -> bool:
    if (operation := flat.get("genaioperationname")) is not None:
        return bool(operation == "execute_tool")
    if (
        "genaitoolname" in flat
        or "aitoolcallname" in flat
        or ("toolname" in flat and ("toolinput" in flat or "traceparentid" in flat))
    ):
        return True
    if flat.get("spanattributestype") == "function":
        return False  # Braintrust's word for any function that is traced
    return any(plain(str(flat[name])) in _TOOLS for name in _KIND if type(flat.get(name)) is str)


def _is_function(flat: Mapping[str, Any]) -> bool:
    """Whether a record is of a function that another called by arguments, and nothing says whether it is a tool."""
    of_braintrust = "spanattributesname" in flat and flat.get("spanattributestype") in (None, "function")
    of_weave = str(flat.get("opname")).startswith("weave:///") and flat.get("attributesweavekind") is None
    inside = first(flat, _PARENT) is not None and isinstance(first(flat, _INPUT), dict)
    return inside and (of_braintrust or of_weave)


def _trace_of(flat: Mapping[str, Any]) -> str:
    ordered = str(flat.get("dottedorder") or "").partition(".")[0]  # 20250801T162044824977Z<run id>
    session = flat.get("sessionid") if "eventtype" in flat else None  # HoneyHive's
    return str(first(flat, _TRACE) or ordered.partition("Z")[2] or session or "")


def _flat(record: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        name = plain(str(key))
        yield prefix + name, value
        if isinstance(value, dict) and depth < 3 and name in _INSIDE:
            yield from _flat(value, prefix + name, depth + 1)


def tool_call(flat: dict[str, Any], trace: str) -> LooseCall:
    """Return the tool's call that a record of a trace is, by its fields laid out flat."""
    start, end = time_of(first(flat, _START)), time_of(first(flat, _END))
    took = number_of(flat.get("duration")) if "startns" in flat else None
    if start is not None and end is None and took is not None:
        end = start + took / 1e9
    given = first(flat, _OUTPUT)
    whole = isinstance(given, dict) and "output" in given and "runtype" in flat
    content, is_error, call_id = _answer_in(given["output"] if whole else None if given == {} else given)
    content = parsed_json(content) if "mlflowspanoutputs" in flat else content
    if isinstance(content, dict) and content.keys() == {"type", "value"}:
        content = content["value"]
    result = NO_RESULT if content is None else content
    own = str(first(flat, _OWN) or "")
    error = first({name: value for name, value in flat.items() if value}, _ERROR)
    lost, said, error_type = failed({"error": error, "errortype": first(flat, _ERROR_TYPE)})
    marked, _, _ = failed({"status": first(flat, _STATUS)})
    if "statusmessage" in flat and error == flat["statusmessage"] and not marked:
        lost = None  # the message of a record that went well
    if lost or marked:
        result, is_error = (said if lost else result), True
        result = said if result in (NO_RESULT, "", None) and said is not None else result
    if is_control_flow(error_type):
        result, is_error = NO_RESULT, None
    elif result is NO_RESULT and end is not None and is_error is None:
        is_error = False
    return LooseCall(
        conversation=trace,
        own_id=own,
        tool=_tool_of(str(first(flat, _NAME))),
        arguments=printed_arguments(_arguments(first(flat, _INPUT))),
        call_id=str(first(flat, _CALL_ID) or call_id or own),
        start=start,
        end=end,
        has_result=result is not NO_RESULT,
        result=None if result is NO_RESULT else result,
        is_error=is_error,
        error_type=error_type if is_error else None,
        parent=str(first(flat, _PARENT) or ""),
        turn=_step(flat),
        trace=str(first(flat, _TRACE) or trace),
    )


def _answer_in(value: Any) -> tuple[Any, bool | None, str]:
    """Return the content, the error mark (True or None) and the call id of an answer, which may be a tool message.

    A tool message says with ``status: "error"`` that an error was caught and handed to the model; around it the run
    or span looks like a success. Anything else is its own content.
    """
    if type(value) is str and '"content"' not in value:
        return value, None, ""
    given = parsed_json(value)
    message, _ = unwrapped(given) if isinstance(given, dict) else (None, None)
    found = fields(message) if isinstance(message, dict) else {}
    call_id = first(found, ANSWERS_ID[:-1])
    if "content" not in found or not (call_id or found.get("type") == "tool"):
        return value, None, ""
    content, is_error, _ = answer_of(found, RESULT)
    return (None if content is NO_RESULT else content), True if is_error else None, str(call_id or "")


def _step(flat: Mapping[str, Any]) -> str | None:
    """Return the step of a LangGraph run: the calls of one step were made together."""
    extra = flat.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    step = metadata.get("langgraph_step") if isinstance(metadata, dict) else None
    return None if step is None else f"{step}/{str(flat.get('dottedorder') or '').count('.')}"


def _arguments(given: Any) -> Any:
    """Return a call's arguments out of what some platforms put around them."""
    if isinstance(given, dict) and given.keys() == {"type", "value"}:
        return given["value"]
    if isinstance(given, dict) and len(given) == 1 and (name := next(iter(given))) in ("value", "input"):
        inner = given[name]
        if name == "value" or isinstance(inner, dict) or str(inner).lstrip().startswith("{"):
            return inner
    return given


def _tool_of(name: str) -> str:
    """Return the tool in a name like ``execute_tool get_order`` or Weave's ``weave:///team/project/op/get_order:0123abcd``."""
    if name.startswith("weave:///"):
        return name.rpartition("/op/")[2].partition(":")[0]
    return _PREFIX.sub("", name).strip()
