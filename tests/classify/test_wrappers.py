"""A failure in any wrapper is found and named as the bare failure is: every wrapper around every text.

The wrappers are what the libraries named beside them made of a raising tool when they were run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from btm.classify import ToolResult, classify
from btm.model import Effect, ErrorKind, ToolCall

K = ErrorKind
CALL = ToolCall("lookup_order", {"order_id": "W-1"}, Effect.READ, at=1.8e9)

TEXTS: dict[str, ErrorKind] = {
    "Connection refused by ledger.example.com:5432": K.UNAVAILABLE,
    "Order W-1 not found": K.NOT_FOUND,
    "Read timed out after 30 seconds": K.TIMEOUT,
    "Rate limit exceeded, please retry later": K.RATE_LIMIT,
    "You do not have permission to read orders": K.AUTH_ERROR,
    "The access token has expired": K.AUTH_ERROR,
    "order_id must be a positive integer": K.INVALID_ARGUMENTS,
    "Internal server error": K.SERVER_ERROR,
    "The monthly quota of this account is used up": K.QUOTA_EXHAUSTED,
    "Order W-1 has already been shipped and cannot be changed": K.PRECONDITION_FAILED,
    "[Errno 2] No such file or directory: 'orders.csv'": K.NOT_FOUND,
    "Service temporarily unavailable": K.UNAVAILABLE,
}

PLAIN: dict[str, Callable[[str], str]] = {
    "langgraph 1": lambda t: (
        f"Error: ConnectionError({t!r})\n Please fix your mistakes."
        if "refused" in t
        else f"Error: ToolException({t!r})\n Please fix your mistakes."
    ),
    "langchain ToolRetryMiddleware": lambda t: (
        f"Tool 'lookup_order' failed after 2 attempts with RuntimeError: {t}. Please try again."
    ),
    "mcp 1": lambda t: f"Error executing tool lookup_order: {t}",
    "fastmcp 3": lambda t: f"Error calling tool 'lookup_order': {t}",
    "llama-index": lambda t: f"Encountered error: {t}",
    "smolagents": lambda t: (
        "Error executing tool 'lookup_order' with arguments {'order_id': 'W-1'}: RuntimeError: "
        f"{t}\nPlease try again or use another tool"
    ),
    "smolagents code": lambda t: f"Code execution failed at line 'lookup_order(1)' due to: RuntimeError: {t}",
    "haystack": lambda t: (
        f"Failed to invoke Tool `lookup_order` with parameters {{'order_id': 'W-1'}}. Error: {t}"
    ),
    "strands": lambda t: f"Error: RuntimeError - {t}",
    "pydantic-ai": lambda t: json.dumps({"error": t}),
    "pydantic-ai retry": lambda t: f"{t}\n\nFix the errors and try again.",
    "crewai": lambda t: (
        f"I encountered an error while trying to use the tool. This was the error: {t}.\n"
        " Tool lookup_order accepts these inputs: order_id"
    ),
    "cline": lambda t: f"The tool execution failed with the following error:\n<error>\n{t}\n</error>",
    "claude code": lambda t: f"<tool_use_error>{t}</tool_use_error>",
    "json-rpc": lambda t: json.dumps({"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": t}}),
    "mcp client": lambda t: f"MCP error -32603: {t}",
    "vercel ai": lambda t: f"Error executing tool lookup_order: {t}",
    "level": lambda t: f"[ERROR] {t}",
    "prefix": lambda t: f"Error: {t}",
    "class": lambda t: f"RuntimeError: {t}",
    "repr": lambda t: f"RuntimeError({t!r})",
    "codex": lambda t: f"Exit code: 1\nWall time: 0.3 seconds\nOutput:\nlookup: {t}",
    "shell": lambda t: f"lookup: {t}\n\nExit code: 1",
    "process": lambda t: f"Command failed with exit code 2\nlookup: {t}",
    "swe-agent": lambda t: f"<returncode>1</returncode>\n<output>\nlookup: {t}</output>",
    "traceback": lambda t: (
        'Traceback (most recent call last):\n  File "/srv/app.py", line 12, in lookup\n    raise E(message)\n'
        f"shop.errors.ShopError: {t}"
    ),
    "java": lambda t: (
        f'Exception in thread "main" com.acme.ShopException: {t}\n\tat com.acme.Shop.find(Shop.java:12)'
    ),
    "java cause": lambda t: (
        "java.lang.RuntimeException: lookup failed\n\tat com.acme.A.b(A.java:3)\n"
        f"Caused by: com.acme.ShopException: {t}\n\tat com.acme.C.d(C.java:9)"
    ),
    "node": lambda t: f"Error: {t}\n    at lookup (/srv/app.js:3:9)\n    at process.main (node:internal:1:1)",
    "dotnet": lambda t: (
        f"Unhandled exception. Acme.ShopException: {t}\n   at Acme.Shop.Find() in /srv/Shop.cs:line 9"
    ),
    "ruby": lambda t: f"app.rb:3:in `find': {t} (Shop::Error)\n\tfrom app.rb:9:in `<main>'",
    "php": lambda t: (
        f"PHP Fatal error:  Uncaught ShopException: {t} in /srv/app.php:3\nStack trace:\n#0 {{main}}"
    ),
    "go": lambda t: f"lookup order: get order: {t}" if "Errno" in t else f"error: lookup order: {t}",
    "rust": lambda t: f"Error: {t}\n\nCaused by:\n    lookup failed",
    "grpc": lambda t: f"rpc error: code = Unknown desc = {t}",
    "success flag": lambda t: json.dumps({"success": False, "message": t}),
    "ok flag": lambda t: json.dumps({"ok": False, "error": {"description": t}}),
    "status word": lambda t: json.dumps({"status": "error", "message": t}),
    "error object": lambda t: json.dumps({"error": {"type": "shop_error", "message": t}}),
    "errors": lambda t: json.dumps({"errors": [{"message": t}]}),
    "graphql": lambda t: json.dumps({"data": None, "errors": [{"message": t, "path": ["order"]}]}),
    "detail": lambda t: json.dumps({"detail": t}),
    "problem": lambda t: json.dumps(
        {"type": "about:blank", "title": "Problem", "detail": t, "instance": "/o/1"}
    ),
    "fault": lambda t: json.dumps({"Fault": {"faultstring": t, "faultcode": "Server"}}),
    "soap": lambda t: (
        f"<soap:Envelope><soap:Body><soap:Fault><faultstring>{t}</faultstring></soap:Fault></soap:Body></soap:Envelope>"
    ),
    "xml": lambda t: f"<?xml version='1.0'?><Error><Code>X1</Code><Message>{t}</Message></Error>",
    "norwegian": lambda t: json.dumps({"feil": t}),
    "russian": lambda t: json.dumps({"ошибка": t}, ensure_ascii=False),
    "python dict": lambda t: repr({"error": t, "ok": False}),
    "printed content": lambda t: f"meta=None content=[TextContent(type='text', text={t!r})] isError=True",
}
FLAGGED: dict[str, Callable[[str], object]] = {
    "flag": lambda t: ToolResult(t, is_error=True),
    "mcp": lambda t: {"content": [{"type": "text", "text": t}], "isError": True},
    "tool message": lambda t: {"role": "tool", "content": t, "status": "error", "tool_call_id": "1"},
    "strands": lambda t: {"toolUseId": "1", "status": "error", "content": [{"text": f"Error: X - {t}"}]},
    "anthropic": lambda t: {"type": "tool_result", "content": t, "is_error": True},
}
LEAST = 0.95


def test_a_text_in_any_wrapper_is_found() -> None:
    found, named, missed = 0, 0, Counter[str]()
    total = len(TEXTS) * (len(PLAIN) + len(FLAGGED))
    lines = []
    for name, wrap in {**PLAIN, **FLAGGED}.items():
        for text, kind in TEXTS.items():
            outcome = classify(CALL, wrap(text))
            found += outcome.kind is not None
            named += outcome.kind is kind
            if outcome.kind is not kind:
                missed[name] += 1
                lines.append(f"{name}: {text!r} was named {outcome.kind} by {outcome.rule}")
    print(f"\nfound {found / total:.3f}, named {named / total:.3f} of {total}")
    assert found / total >= LEAST, "\n".join(lines)
    assert named / total >= LEAST, "\n".join(lines)
