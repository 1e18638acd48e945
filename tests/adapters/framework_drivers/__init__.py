"""One driver a framework for the conformance kit. A driver's framework is imported when it is first run."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from conformance_kit import FrameworkDriver

MODULES = (
    "openai_agents",
    "pydantic_ai",
    "google_adk",
    "agent_framework",
    "strands",
    "smolagents",
    "crewai",
    "llama_index",
    "agno",
    "ag2",
    "autogen",
)


def drivers() -> list[FrameworkDriver]:
    """Every driver, whether or not its framework is there."""
    return [import_module(f"framework_drivers.{name}_driver").DRIVER for name in MODULES]


def is_there(driver: FrameworkDriver) -> bool:
    """Whether a driver's framework is installed."""
    try:
        return find_spec(driver.package) is not None
    except ModuleNotFoundError:
        return False
