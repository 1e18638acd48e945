"""tau2 telecom as an evaluation environment, with dual control: the user's phone has tools too, which no fault strikes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic_core import to_jsonable_python

from btm.lab.environment import ToolSpec
from btm.lab.gold import GoldEnvironment, GoldTask, Holder
from btm.lab.tau2.source import HUMAN, SourceTask, fresh_telecom, source_tasks, specs_of

_OWN = ("summary", "reason", "mode", "app_name", "permission")
"""What the support manual says, or the agent words itself."""


class TelecomEnvironment(GoldEnvironment):
    """tau2-bench telecom: the provider's tools, and those of the user's phone."""

    domain = "tau2:telecom"
    fallback_map = "telecom"

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:  # type: ignore[override]
        both = fresh_telecom()
        return {**specs_of(both.user_tools, by_user=True), **specs_of(both.tools)}

    @cached_property
    def _sources(self) -> Mapping[str, SourceTask]:
        return {source.task_id: source for source in source_tasks("telecom")}

    def gold(self) -> Mapping[str, GoldTask]:
        """Return tau2's tasks; as the policy has it, customer and line are looked up before anything is changed."""
        return {name: _task(source) for name, source in self._sources.items()}

    def hold(self, name: str) -> TelecomHolder:
        return TelecomHolder(self._sources[name])


class TelecomHolder(Holder):
    """tau2's telecom environment with its two databases."""

    def __init__(self, source: SourceTask) -> None:
        self._source = source
        self._environment = fresh_telecom()
        self._handed_over = False
        for action in source.prepared:
            self._environment.run_env_function_call(action)
        self._environment.sync_tools()

    def invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool of the provider or of the phone, and let each know of the other."""
        self._handed_over |= tool == HUMAN
        of_phone = self._environment.user_tools.has_tool(tool)
        use = self._environment.use_user_tool if of_phone else self._environment.use_tool
        try:
            return to_jsonable_python(use(tool, **arguments))
        finally:
            self._environment.sync_tools()

    def state(self) -> Any:
        both = {"provider": self._environment.tools, "phone": self._environment.user_tools}
        return {
            **{name: kit.db.model_dump(mode="json") for name, kit in both.items()},
            "handed over": self._handed_over,
        }

    def asserted(self) -> bool:
        """Whether everything that tau2 asks at the end holds."""
        ask = self._environment.run_env_assertion
        return all(ask(one, raise_assertion_error=False) for one in self._source.asserted)


def _task(source: SourceTask) -> GoldTask:
    phone = re.search(r"\d{3}-\d{3}-\d{4}", source.request)
    if phone is None:
        return GoldTask(source.request, ())
    number = phone.group()
    holder = TelecomHolder(source)
    customer = holder.invoke("get_customer_by_phone", {"phone_number": number})
    lines = (holder.invoke("get_details_by_id", {"id": line}) for line in customer["line_ids"])
    line = next(found["line_id"] for found in lines if found["phone_number"] == number)
    looks = [("get_customer_by_phone", {"phone_number": number}), ("get_details_by_id", {"id": line})]
    if any(
        tool == "refuel_data" for tool, _ in source.calls
    ):  # nobody sells data before seeing that it is used up
        looks.append(("get_data_usage", {"customer_id": customer["customer_id"], "line_id": line}))
    return GoldTask(
        source.request,
        [*looks, *source.calls],
        {"phone_number": number},
        own=_OWN,
        adds=source.text,
        first=len(looks),
    )
