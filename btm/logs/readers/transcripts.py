"""Conversations as lists of messages: one reader, and a table of how each product's logs are recognised.

All of them are read by the same walk (see ``btm.logs.chat`` and ``btm.logs.words``); a row says what a log of that name
looks like. A sign is a key that comes up in a log's beginning, or ``key=value``; a log fits a row when it shows all
signs of one of its sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from btm.logs import joining
from btm.logs.chat import conversations, records_apart
from btm.logs.conversation import Item
from btm.logs.finding import conversations_in
from btm.logs.layout import LISTS
from btm.logs.records import Log
from btm.logs.sample import Sample, Shape
from btm.logs.scanner import Path
from btm.logs.shapes import is_message


class Transcript(NamedTuple):
    """A format of conversations. ``path`` leads to them in a document that is too large to be read whole."""

    NAME: str
    LOOKS_FOR: str
    signs: tuple[frozenset[str], ...]
    path: Path = ()
    mark: bytes = b""

    def matches(self, sample: Sample) -> bool:
        """Whether the log's beginning shows the format's signs, or its mark."""
        marked = bool(self.mark) and self.mark in sample.head
        return marked or any(signs <= sample.signs for signs in self.signs)

    def apart(self, sample: Sample) -> Path | None:
        """Where the records lie that are a conversation each, if they are."""
        # What leads to them may be far from the beginning; not where the document is itself a conversation.
        beyond = sample.shape is Shape.OBJECT and not sample.records and sample.keys.isdisjoint(LISTS)
        there = bool(self.path) and (self.path[0] in sample.keys or beyond)
        if there:
            return self.path
        return None if joining.are_snapshots(sample) else records_apart(sample)

    def read(self, log: Log) -> Iterator[Item]:
        """Read the log's conversations."""
        if joining.is_lone(log.sample):
            return joining.lone(log, self.NAME)
        path = self.apart(log.sample)
        if not path and joining.are_snapshots(log.sample):
            return joining.snapshots(log, self.NAME)
        return conversations(log, self.NAME, path or ())


class AnyTranscript(Transcript):
    """What has the form of messages, whatever product wrote it."""

    def matches(self, sample: Sample) -> bool:
        """Whether the log's first records are messages, or hold lists of them."""
        if sample.records:
            return any(is_message(r) or next(conversations_in(r), None) is not None for r in sample.records)
        return super().matches(sample)


def _row(name: str, looks_for: str, *signs: str, path: Path = (), mark: bytes = b"") -> Transcript:
    return Transcript(name, looks_for, tuple(frozenset(some.split()) for some in signs), path, mark)


TRANSCRIPTS = (
    _row("tau2", "`simulations`, each with `messages` and `reward_info`", "simulations", "info tasks",
         "messages reward_info", "messages termination_reason", path=("simulations",)),
    _row("tau1", "`traj`, a list of chat messages, beside `task_id` and `reward`", "traj"),
    _row("inspect_ai", "`samples` with `messages`, of an `eval`; or a .eval archive", "eval samples", "epoch messages",
         path=("samples",)),
    _row("claude_code", "lines with a `sessionId` around Claude's messages", "sessionId isSidechain", "parentUuid",
         "leafUuid", "type=file-history-snapshot", "type=queue-operation", "subtype=init session_id"),
    _row("codex", "lines `response_item` around Responses items, or `item.completed`", "type=response_item",
         "type=session_meta", "type=item.completed", "type=thread.started"),
    _row("cline", "texts like `[read_file for '...'] Result:`, or lines of `say` and `ask` (Cline, Roo)", "ts type=say say",
         "ts type=ask ask", mark=b"] Result:"),
    _row("gemini_cli", "messages of type `gemini` with `toolCalls`", "type=gemini", "projectHash"),
    _row("copilot_cli", "lines `assistant.message` and `tool.execution_complete`", "type=session.start",
         "type=tool.execution_start", "type=assistant.message"),
    _row("opencode", "messages of `parts` with a `callID` and `state`", "callID state", "sessionID parts"),
    _row("pi", "lines `message` whose answers have the role `toolResult`", "type=session cwd version", "role=toolResult"),
    _row("pydantic_ai", "messages of `parts` with a `part_kind`", "part_kind"),
    _row("autogen", "events `ToolCallRequestEvent` and `ToolCallExecutionEvent`", "type=ToolCallRequestEvent",
         "type=ToolCallExecutionEvent", "type=FunctionExecutionResultMessage", "models_usage"),
    _row("semantic_kernel", "messages of `items` with a `content_type`, or a `$type`", "content_type=message",
         "content_type=function_call", "$type=FunctionCallContent", "$type=TextContent"),
    _row("llama_index", "messages of `blocks` with a `block_type`, or `tool_kwargs`", "block_type", "tool_kwargs"),
    _row("agno", "chat messages with `tool_call_error`", "tool_call_error", "from_history"),
    _row("crewai", "events `tool_usage_started` and `tool_usage_finished`", "type=tool_usage_started",
         "type=tool_usage_finished", "type=tool_usage_error"),
    _row("vercel_ai", "parts `tool-call` and `tool-result` with a `toolCallId`", "toolCallId toolName", "toolInvocations",
         "state=output-available toolCallId", "state=output-error toolCallId", "type=dynamic-tool"),
    _row("bedrock", "blocks `toolUse` and `toolResult` (Converse, Strands)", "toolUse", "toolResult toolUseId",
         "orchestrationTrace"),
    _row("google", "`parts` with a `functionCall` or `functionResponse` (Gemini, ADK)", "functionCall",
         "functionResponse", "function_call parts", "function_response parts", "role=model parts"),
    _row("smolagents", "steps with a `step_number` and `observations`", "step_number observations", "task task_images"),
    _row("swe_agent", "`trajectory`, steps of an `action` and its `observation`", "trajectory action observation",
         "trajectory_format"),
    _row("openhands", "events with an `action` and `args`, and those whose `cause` they are", "action cause observation",
         "observation extras", "kind=ActionEvent", "kind=ObservationEvent"),
    _row("browser_use", "`history` of `model_output` and `result`", "model_output result history"),
    _row("openai_assistants", "run steps with `step_details`", "step_details"),
    _row("agent_executor", "`intermediate_steps` of an action and its observation", "intermediate_steps",
         "intermediateSteps"),
    _row("copilot_chat", "`requests` with `toolCallRounds`", "toolCallRounds", "requests responderUsername"),
    _row("mcp", "JSON-RPC messages: `tools/call` and their results", "jsonrpc"),
    _row("sharegpt", "`conversations` of `from` and `value`", "from=human value", "from=gpt value"),
    _row("langchain", "messages of type `human`, `ai`, `tool` (with `data`, or with `lc` and `kwargs`)", "lc kwargs",
         "type=human", "type=ai", "type=tool content tool_call_id"),
    _row("openai_responses", "items of type `function_call` and `function_call_output` (a list, or `input` and `output`)",
         "type=function_call", "type=function_call_output", "object=response", "previous_response_id", "type=mcp_call",
         "type=custom_tool_call"),
    _row("anthropic", "`messages` whose `content` is a list with blocks of type `tool_use` and `tool_result`",
         "type=tool_use", "type=tool_result", "tool_use_id"),
    AnyTranscript("openai_chat", "`messages` whose members have a `role`, calls in `tool_calls`, answers with role `tool`",
                  (frozenset({"messages", "role"}), frozenset({"role", "content"}))),
)  # fmt: skip
"""The particular before the general."""
