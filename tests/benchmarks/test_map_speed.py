"""How fast maps load and answer: 500 tools within a second, a query within 50 microseconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from btm.authored.expressions import compile_expression, compile_template
from btm.fallback import FallbackMap
from btm.model import ErrorKind, ToolCall

TOOL = """
  get_{n}:
    effect: read
    takes: [id_{n}, "limit?"]
    returns: [id_{n}, status, price]
    timeout: 30s
    fallbacks:
      - tool: find_{n}
        coverage: partial
        arguments: {{text: "no {{{{ call.id_{n} }}}}", user: "{{{{ known.user }}}}"}}
      - tool: list_{n}
        coverage: 0.8
        lacks: [price]
        pick: "result | selectattr('id_{n}', 'eq', call.id_{n}) | first"
      - via:
          - {{tool: find_{n}, as: found, arguments: {{text: x, user: 1}}}}
          - {{tool: list_{n}, arguments: {{id: "{{{{ found.id }}}}"}}}}
        coverage: 0.5
    expect: {{required: [id_{n}, status], types: {{price: number}}, ranges: {{price: [0, null]}}}}
    cross_check: {{tool: list_{n}, arguments: {{}}, compare: [price]}}
  find_{n}: {{effect: read, latency: 2s, fallbacks: [{{tool: list_{n}, coverage: full}}]}}
  list_{n}: {{effect: read, returns: [user], errors: [{{match: "no such thing", kind: not_found}}]}}
  put_{n}:
    effect: write
    verify: {{tool: get_{n}, arguments: {{id_{n}: "{{{{ call.id }}}}"}}, done_when: "result.status == 'done {n}'"}}
"""
TEXT = "version: 1\ndomain: big\ntools:\n" + "".join(TOOL.format(n=n) for n in range(125))
LIMIT_LOAD_S = 1.0
LIMIT_QUERY_S = 50e-6


def test_a_map_of_500_tools_loads_within_a_second() -> None:
    def afresh() -> None:
        compile_expression.cache_clear()
        compile_template.cache_clear()
        FallbackMap.from_text(TEXT)

    best = min(_seconds(afresh) for _ in range(3))
    assert len(FallbackMap.from_text(TEXT).tools) == 500
    assert best <= LIMIT_LOAD_S


def test_a_candidate_query_takes_at_most_50_microseconds() -> None:
    big = FallbackMap.from_text(TEXT)
    call, known = ToolCall("get_7", {"id_7": 3}), {"user": "u"}
    assert len(big.candidates(call, ErrorKind.TIMEOUT, known)) == 3

    def thousand() -> None:
        for _ in range(1_000):
            big.candidates(call, ErrorKind.TIMEOUT, known)

    assert min(_seconds(thousand) for _ in range(5)) / 1_000 <= LIMIT_QUERY_S


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
