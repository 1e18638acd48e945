"""The scripted agent: gated on what it saw, led astray by wrong values, and obedient to a context's text only."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.fallback import Step
from btm.lab.agent import AgentRun, AgentSettings, ToolResponse, run_agent, solved
from btm.lab.environment import ShownValue, Task
from btm.lab.instruction import Instruction, instructions
from btm.lab.jsonvalue import leaves
from btm.lab.looking import Shown, anywhere, look
from btm.lab.shop import ShopEnvironment, ShopSession
from btm.model import Action, ErrorKind, Outcome, ToolCall
from btm.planning.instructions import instruction
from btm.planning.plan import RecoveryPlan

SHOP = ShopEnvironment()
TASKS = {task.task_id: task for task in SHOP.tasks}
CANCEL = TASKS["shop-01"]  # find_user_by_email, get_order, cancel_order
CANCEL_FOUND = TASKS["shop-07"]  # find_user_by_name_zip, list_user_orders, cancel_order
BUY = TASKS["shop-27"]  # find, get_user, search_products, get_product, place_order
ASK = TASKS["shop-39"]  # find_user_by_email, get_user: how much store credit?

Handler = Callable[[ShopSession, Mapping[str, Any]], ToolResponse]


class Bench:
    """A shop session whose tools can be given handlers, and which notes every call."""

    def __init__(self, **handlers: Handler | Sequence[Handler]) -> None:
        self.session = ShopSession()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._handlers = {k: [h] if callable(h) else list(h) for k, h in handlers.items()}

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        self.calls.append((tool, dict(arguments)))
        queue = self._handlers.get(tool)
        if queue:
            handler = queue.pop(0) if len(queue) > 1 else queue[0]
            return handler(self.session, arguments)
        return honest(tool)(self.session, arguments)

    @property
    def tools(self) -> list[str]:
        return [tool for tool, _ in self.calls]

    def run(self, task: Task, **settings: Any) -> tuple[AgentRun, bool]:
        run = run_agent(task, self, tools=SHOP.tools, settings=AgentSettings(**settings))
        return run, solved(task, self.session.digest(), run)


def honest(tool: str) -> Handler:
    def call(session: ShopSession, arguments: Mapping[str, Any]) -> ToolResponse:
        try:
            return ToolResponse(session.call(tool, arguments))
        except (LookupError, ValueError) as error:
            return ToolResponse(str(error), is_error=True)

    return call


def fails(advice: str | None = None) -> Handler:
    return lambda _session, _arguments: ToolResponse("503 service unavailable", is_error=True, advice=advice)


def lost(tool: str, advice: str | None = None) -> Handler:
    """The write happens, and its answer is lost."""

    def call(session: ShopSession, arguments: Mapping[str, Any]) -> ToolResponse:
        session.call(tool, arguments)
        return ToolResponse("timed out", is_error=True, advice=advice)

    return call


def spoiled(tool: str, spoil: Callable[[Any], None], advice: str | None = None) -> Handler:
    def call(session: ShopSession, arguments: Mapping[str, Any]) -> ToolResponse:
        result = session.call(tool, arguments)
        spoil(result)
        return ToolResponse(result, advice=advice)

    return call


# On its own


def test_without_advice_a_failed_read_leaves_the_agent_stuck_and_it_makes_no_write() -> None:
    bench = Bench(get_order=fails())
    run, ok = bench.run(CANCEL)
    assert run.stuck_at == 2
    assert not ok
    assert bench.tools == ["find_user_by_email", "get_order"]


def test_patience_repeats_the_same_call_and_no_more() -> None:
    bench = Bench(get_order=fails())
    run, _ = bench.run(CANCEL, patience=3)
    assert bench.tools.count("get_order") == 4
    assert [made.why for made in run.calls[1:]] == ["script", "repeat", "repeat", "repeat"]


def test_patience_gets_over_a_passing_fault() -> None:
    bench = Bench(get_order=[fails(), fails(), honest("get_order")])
    assert bench.run(CANCEL, patience=2)[1]


def test_patience_on_a_lost_answer_makes_a_double_write() -> None:
    task = next(t for t in SHOP.tasks if t.steps[-1].tool == "place_order")
    bench = Bench(place_order=lost("place_order"))
    _, ok = bench.run(task, patience=1)
    assert not ok
    assert len(bench.session.writes) == 2


def test_a_wrong_value_leads_the_agent_astray() -> None:
    def other_user(result: Any) -> None:
        result["user_id"] = "tom_okafor_918"

    bench = Bench(find_user_by_name_zip=spoiled("find_user_by_name_zip", other_user))
    run, ok = bench.run(CANCEL_FOUND)
    assert bench.calls[1] == ("list_user_orders", {"user_id": "tom_okafor_918"})
    assert not ok
    assert run.stuck_at == 2  # none of his orders is the one that was described
    assert bench.session.writes == []


def test_a_stale_status_keeps_the_agent_from_the_change() -> None:
    bench = Bench(get_order=spoiled("get_order", lambda order: order.update(status="shipped")))
    run, ok = bench.run(CANCEL)
    assert run.stuck_at == 2
    assert not ok


def test_a_missing_field_leaves_the_agent_stuck() -> None:
    bench = Bench(get_product=spoiled("get_product", lambda product: product.pop("price")))
    assert bench.run(BUY)[0].stuck_at == 4


def test_a_list_that_lost_its_first_entry_is_still_read_right() -> None:
    bench = Bench(list_user_orders=spoiled("list_user_orders", lambda result: result["orders"].pop(0)))
    assert bench.run(CANCEL_FOUND)[1]


def test_an_answer_counts_only_when_it_was_seen_right() -> None:
    assert Bench().run(ASK)[1]
    bench = Bench(get_user=spoiled("get_user", lambda user: user.update(store_credit=1.0)))
    run, ok = bench.run(ASK)
    assert run.answers == ()
    assert not ok
    assert not Bench(get_user=fails()).run(ASK)[1]


def test_a_budget_of_calls_ends_the_episode() -> None:
    bench = Bench(get_order=fails())
    run, _ = bench.run(CANCEL, patience=1_000, moves=1_000, max_calls=7)
    assert run.spent
    assert len(run.calls) == 7


# Following a context


def test_a_retry_is_made_with_the_same_arguments_after_the_wait() -> None:
    bench = Bench(
        get_order=[fails('next: retry get_order {"order_id": "S1001"} after 2.5 s'), honest("get_order")]
    )
    waited: list[float] = []
    run = run_agent(CANCEL, bench, tools=SHOP.tools, wait=waited.append)
    assert solved(CANCEL, bench.session.digest(), run)
    assert waited == [2.5]
    assert bench.calls[1] == bench.calls[2]


def test_a_switch_goes_on_with_what_the_other_tool_shows() -> None:
    advice = '<recovery>\nnext: switch to list_user_orders {"user_id": "ava_stone_114"}\nwhy: worked 5 of 5\n</recovery>'
    bench = Bench(get_order=fails(advice))
    run, ok = bench.run(CANCEL)
    assert ok
    assert bench.tools == ["find_user_by_email", "get_order", "list_user_orders", "cancel_order"]
    assert run.completed == (0, 1, 2)


def test_every_read_can_be_replaced_by_its_twin() -> None:
    twins = {
        "find_user_by_email": ("find_user_by_name_zip", {}),
        "find_user_by_name_zip": ("search_customers", "{first_name} {last_name}"),
        "get_user": ("search_customers", "{email}"),
        "get_order": ("list_user_orders", {}),
        "list_user_orders": ("search_orders", "{email}"),
        "track_shipment": ("get_order", {}),
        "get_product": ("list_catalog", {}),
        "search_products": ("list_catalog", {}),
    }
    for task in SHOP.tasks:
        for tool in {step.tool for step in task.steps} & set(twins):
            twin, query = twins[tool]
            name = {"search_customers": "query", "search_orders": "customer"}.get(twin)
            arguments = f'{{"{name}": "{str(query).format(**task.facts)}"}}' if name else ""
            bench = Bench(**{tool: fails(f"next: switch to {twin} {arguments}")})
            assert bench.run(task)[1], (task.task_id, tool, bench.tools)


def test_missing_arguments_come_from_the_user_or_from_what_was_seen() -> None:
    bench = Bench(
        find_user_by_email=fails(
            "next: switch to find_user_by_name_zip, and fill in first_name, last_name, zip"
        )
    )
    assert bench.run(CANCEL)[1]
    assert bench.calls[1][1] == {"first_name": "Ava", "last_name": "Stone", "zip": "40213"}
    bench = Bench(get_order=fails("next: switch to list_user_orders, and fill in user_id"))
    assert bench.run(CANCEL)[1]


def test_an_argument_that_nobody_knows_is_not_made_up() -> None:
    bench = Bench(find_user_by_email=fails("next: switch to get_product, and fill in product_id"))
    bench.run(CANCEL)
    assert "get_product" not in bench.tools


def test_what_comes_then_is_done_when_the_first_needs_what_nobody_knows() -> None:
    advice = "next: switch to get_product, and fill in product_id\nthen: switch to find_user_by_name_zip (chance 0.50)"
    bench = Bench(find_user_by_email=fails(advice))
    assert bench.run(CANCEL)[1]
    assert bench.tools[:2] == ["find_user_by_email", "find_user_by_name_zip"]


def test_a_repair_is_followed_by_the_same_call() -> None:
    advice = "next: repair with refresh_session {}, then retry get_order"
    bench = Bench(get_order=[fails(advice), honest("get_order")])
    assert bench.run(CANCEL)[1]
    assert bench.tools[1:4] == ["get_order", "refresh_session", "get_order"]


VERIFY = 'next: verify with get_order {"order_id": "S1001"} whether cancel_order went through'


def test_a_check_that_finds_the_write_done_is_not_followed_by_another() -> None:
    bench = Bench(cancel_order=lost("cancel_order", VERIFY))
    assert bench.run(CANCEL)[1]
    assert bench.tools.count("cancel_order") == 1


def test_a_check_that_finds_it_not_done_is_followed_by_the_write() -> None:
    bench = Bench(cancel_order=[fails(VERIFY), honest("cancel_order")])
    run, ok = bench.run(CANCEL)
    assert ok
    assert [made.why for made in run.calls][-3:] == ["script", "verify", "retry"]


def test_a_check_of_an_order_placed_finds_it_in_the_list() -> None:
    advice = (
        'next: verify with list_user_orders {"user_id": "ava_stone_802"} whether place_order went through'
    )
    for handlers in ([lost("place_order", advice)], [fails(advice), honest("place_order")]):
        bench = Bench(place_order=handlers)
        assert bench.run(BUY)[1]
        assert len(bench.session.writes) == 1


def test_a_silent_fault_is_replaced_when_the_context_says_so() -> None:
    advice = 'next: switch to list_user_orders {"user_id": "ava_stone_114"}'
    bench = Bench(get_order=spoiled("get_order", lambda order: order.update(status="shipped"), advice))
    assert bench.run(CANCEL)[1]


def test_an_escalation_ends_the_episode_and_is_no_solution() -> None:
    bench = Bench(get_order=fails("next: escalate with transfer_to_human: nothing is left to try"))
    run, ok = bench.run(CANCEL)
    assert run.escalated
    assert not ok
    assert bench.calls[-1] == ("transfer_to_human", {"summary": CANCEL.request})


@pytest.mark.parametrize(
    "advice",
    [
        "next: abandon",
        "next: stop calling get_order and tell the user what failed: nothing is left to try",
        "next: revise the arguments of get_order and call it again",
        "next: switch to no_such_tool {}",
        "next: dance",
        "try again perhaps",
        "",
    ],
)
def test_what_cannot_be_done_is_left(advice: str) -> None:
    bench = Bench(get_order=fails(advice))
    run, _ = bench.run(CANCEL)
    assert bench.tools == ["find_user_by_email", "get_order"]
    assert run.stuck_at == 2


def test_an_agent_that_does_not_follow_ignores_contexts() -> None:
    bench = Bench(get_order=fails('next: retry get_order {"order_id": "S1001"}'))
    bench.run(CANCEL, follows=False)
    assert bench.tools.count("get_order") == 1


def test_a_context_that_asks_for_the_same_for_ever_is_left_at_last() -> None:
    bench = Bench(get_order=fails("next: retry get_order"))
    bench.run(CANCEL, moves=6)
    assert bench.tools.count("get_order") == 7


def test_a_result_from_another_tool_behind_the_same_call_is_read_as_foreign() -> None:
    def served(session: ShopSession, _arguments: Mapping[str, Any]) -> ToolResponse:
        return ToolResponse(
            session.call("list_user_orders", {"user_id": "ava_stone_114"}), served_by="list_user_orders"
        )

    assert Bench(get_order=served).run(CANCEL)[1]


# Gating


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(SHOP.tasks))
def test_an_id_that_was_never_shown_is_never_used(seed: int, task: Task) -> None:
    rng = random.Random(seed)
    session = ShopSession()
    shown: set[Any] = set(task.facts.values())
    own = {value for step in task.steps for path, s in step.sources if not isinstance(s, ShownValue)
           for value in [dict(leaves(step.arguments))[path]]}  # fmt: skip

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        for _, value in leaves(arguments):
            assert value in shown or value in own or value in (task.request, {}), (tool, value)
        fault = rng.random()
        if fault < 0.3:
            advice = rng.choice(
                [None, f"next: retry {tool}", "next: switch to search_orders", "next: switch to get_user"]
            )
            return ToolResponse("failed", is_error=True, advice=advice)
        try:
            result = session.call(tool, arguments)
        except (LookupError, ValueError) as error:
            return ToolResponse(str(error), is_error=True)
        if fault < 0.5 and isinstance(result, dict):
            result.pop(rng.choice(sorted(result)))
        shown.update(value for _, value in leaves(result) if not isinstance(value, list | dict))
        return ToolResponse(result)

    run_agent(task, call, tools=SHOP.tools, settings=AgentSettings(patience=1))


# Reading instructions


WHOLE = """<recovery tool="x" error="timeout">
next: switch to find_user {"zip": "1"}, and fill in first_name, last_name; it lacks email
then: retry x
</recovery>"""
RETRY, VERIFY_, SWITCH = Action.RETRY, Action.VERIFY, Action.SWITCH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('next: retry get {"id": "O1"} after 2 s', Instruction(RETRY, "get", {"id": "O1"}, (), 2.0)),
        ("- **next**: switch to list_catalog", Instruction(SWITCH, "list_catalog")),
        (WHOLE, Instruction(SWITCH, "find_user", {"zip": "1"}, ("first_name", "last_name"))),
        (
            "next: repair with refresh {}, then retry get",
            Instruction(Action.REPAIR, "refresh", {}, again="get"),
        ),
        ("next: revise the arguments of get and call it again", Instruction(Action.REVISE, "get")),
        (
            "next: do something else first; retry get {} not before 14:15 UTC (65 s from now), or tell the user to wait",
            Instruction(Action.RETRY, "get", {}, wait_s=65.0),
        ),
        ("next: escalate with ask: nothing is left to try", Instruction(Action.ESCALATE, "ask")),
        (
            'next: verify with get {"a": "after 9 s}"} whether x went through',
            Instruction(VERIFY_, "get", {"a": "after 9 s}"}),
        ),
        ('next: retry get_order {"order_id": "cut…', Instruction(RETRY, "get_order")),
        ("why: next: retry x", None),
        ("", None),
    ],
)
def test_the_first_line_is_read(text: str, expected: Instruction | None) -> None:
    assert next(iter(instructions(text)), None) == expected


@pytest.mark.parametrize("action", list(Action))
def test_what_the_context_writes_is_what_the_agent_reads(action: Action) -> None:
    arguments = {"order_id": "<O1>", "n": 3}
    step = Step(action, "get_order", arguments, missing=("zip",), wait_s=3.0)
    failed = ToolCall("get_order", arguments)
    plan = RecoveryPlan("i", failed, Outcome(ErrorKind.TIMEOUT), (step,))
    (read,) = instructions("next: " + instruction(step, plan))
    assert read is not None
    assert read.action is action
    if action in (Action.SWITCH, Action.VERIFY, Action.REPAIR):
        assert (read.tool, read.arguments, read.missing) == ("get_order", arguments, ("zip",))
    if action is Action.RETRY:
        assert (read.arguments, read.wait_s) == (arguments, 0.0)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    instructions(text)
    instructions("next: " + text)


# Looking


def test_a_foreign_result_is_read_by_the_record_that_was_asked_for() -> None:
    listing = {"orders": [{"order_id": "A", "status": "pending"}, {"order_id": "B", "status": "shipped"}]}
    shown = Shown(listing, own=False, asked={"order_id": "B"})
    assert look(shown, ShownValue(0, ("status",), "shipped"), "") == "shipped"
    assert (
        look(shown, ShownValue(0, ("status",), "pending"), "") == "shipped"
    )  # what it says of B, right or wrong


def test_an_entry_is_looked_for_in_the_record_that_was_asked_for() -> None:
    orders = [
        {"order_id": key, "paid": [{"by": "card", "amount": n}]} for key, n in (("A", 1), ("B", 2), ("C", 3))
    ]
    shown = Shown({"query": "B", "orders": orders}, own=False, asked={"order_id": "B"})
    assert look(shown, ShownValue(0, ("paid", 0, "amount"), 2, (("by", "card"),)), "") == 2


def test_a_value_under_another_name_is_recognised() -> None:
    shown = Shown({"ticket": {"number": "A", "state": "pending"}}, own=False, asked={"order_id": "A"})
    assert look(shown, ShownValue(0, ("status",), "pending"), "") == "pending"


def test_a_value_may_stand_as_a_key() -> None:
    assert anywhere([{"P-1": 3}], "P-1")
    assert not anywhere([{"P-1": 3}], "P-2")
