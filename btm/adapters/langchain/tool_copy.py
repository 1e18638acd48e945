"""Another face for an object of LangChain's: its state is shared, its class is another."""

from __future__ import annotations

from typing import TypeVar

from langchain_core.tools import BaseTool

_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")

Tool = TypeVar("Tool", bound=BaseTool)


def facade(tool: BaseTool, cls: type[Tool]) -> Tool:
    """Return an object of ``cls`` that shares the state of ``tool``: what is set on one is seen on the other."""
    made = cls.__new__(cls)
    for name in _STATE:
        object.__setattr__(made, name, getattr(tool, name))
    return made
