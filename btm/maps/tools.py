"""Real tools as a map's author has them: LangChain tools, MCP tools, JSON lists, OpenAPI documents, functions.

No framework is imported: objects are read by the attributes they have.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from btm.errors import did_you_mean
from btm.maps.schemas import fields_of, resolve
from btm.maps.signatures import schema_of_function
from btm.maps.toolinfo import READ_METHODS, WRITE_METHODS, ToolInfo, ToolsError, hints_of, method_of
from btm.support.open_files import read_whole

__all__ = ["ToolInfo", "ToolsError", "read_tools", "tools_of"]


def read_tools(source: str) -> tuple[ToolInfo, ...]:
    """Read tools from ``module:attribute`` (a tool, a list of them or a function that returns one) or a JSON file.

    ``module:attribute`` imports the module, which runs its code. Raises ToolsError.
    """
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", source):
        found = tuple(_objects(_attribute(source)))
    elif source.endswith(".py"):
        module = source.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise ToolsError(f"{source} is Python: name its module and the list in it, such as {module}:tools")
    else:
        try:
            document = orjson.loads(read_whole(source))
        except OSError as problem:
            raise ToolsError(f"{source} cannot be read: {problem.strerror or problem}") from problem
        except orjson.JSONDecodeError as problem:
            raise ToolsError(f"{source} is not JSON: {problem}") from problem
        found = tuple(from_document(document))
    if not found:
        raise ToolsError(
            f"no tools found in {source}; expected a list of tools (LangChain, OpenAI, MCP or functions)"
        )
    unique = {tool.name: tool for tool in found}
    return tuple(unique.values())


def tools_of(objects: Iterable[Any]) -> tuple[ToolInfo, ...]:
    """Read tools from objects: LangChain tools, MCP tools, tool dicts or plain functions. Raises ToolsError."""
    return tuple(_from_object(item) for item in objects)


def _attribute(source: str) -> Any:
    module_name, _, path = source.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as problem:  # the user's module may raise anything while it is imported
        raise ToolsError(
            f"{module_name} cannot be imported: {type(problem).__name__}: {problem}"
        ) from problem
    for name in path.split("."):
        if not hasattr(found, name):
            raise ToolsError(f"{module_name} has no {name!r}{did_you_mean(name, dir(found))}")
        found = getattr(found, name)
    return found


def _objects(found: Any) -> Iterator[ToolInfo]:
    if callable(found) and not _is_tool(found) and not isinstance(found, type):
        produced = _called(found)
        if produced is None:
            yield _from_object(found)
            return
        found = produced
    for name in ("tools", "get_tools"):
        inner = getattr(found, name, None)
        if inner is not None and not isinstance(found, Mapping | list | tuple):
            found = inner() if callable(inner) else inner
            break
    if isinstance(found, Mapping):
        yield from (
            from_document(found)
            if any(isinstance(v, list | Mapping) for v in found.values())
            else tools_of(found.values())
        )
    elif isinstance(found, Iterable) and not isinstance(found, str | bytes) and not _is_tool(found):
        yield from tools_of(found)
    else:
        yield _from_object(found)


def _called(function: Callable[[], Any]) -> Any:
    """Return what a function without needed parameters gives, if that is a collection of tools; else None."""
    if schema_of_function(function).get("properties"):
        return None
    try:
        produced = function()
    except Exception as problem:  # the user's function may raise anything
        raise ToolsError(f"{function!r} raised {type(problem).__name__}: {problem}") from problem
    return produced if isinstance(produced, list | tuple | Mapping) or hasattr(produced, "tools") else None


def _is_tool(item: Any) -> bool:
    return isinstance(getattr(item, "name", None), str) and hasattr(item, "description")


def _from_object(item: Any) -> ToolInfo:
    if isinstance(item, Mapping):
        return from_json(item)
    if _is_tool(item):
        return _from_tool_object(item)
    if callable(item):
        doc = (getattr(item, "__doc__", None) or "").strip()
        schema = schema_of_function(item)
        returns = fields_of(schema.get("returns", {}), schema)
        return ToolInfo(getattr(item, "__name__", type(item).__name__), doc, schema, returns)
    raise ToolsError(
        f"{type(item).__name__} is not a tool: it has no name and description, and cannot be called"
    )


def _from_tool_object(item: Any) -> ToolInfo:
    """A LangChain tool (``args_schema``, ``args``), an MCP tool (``inputSchema``) or a look-alike."""
    schema: Any = getattr(item, "inputSchema", None) or getattr(item, "tool_call_schema", None)
    schema = schema if schema is not None else getattr(item, "args_schema", None)
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    if not isinstance(schema, Mapping):
        arguments = getattr(item, "args", None)
        schema = {"type": "object", "properties": arguments if isinstance(arguments, Mapping) else {}}
    output = getattr(item, "outputSchema", None) or getattr(item, "output_schema", None)
    metadata = getattr(item, "metadata", None)
    hints = hints_of(getattr(item, "annotations", None)) or hints_of(metadata)
    return ToolInfo(
        name=item.name,
        description=str(item.description or ""),
        parameters=schema,
        returns=fields_of(output, output) if isinstance(output, Mapping) else (),
        method=method_of(metadata) if isinstance(metadata, Mapping) else "",
        **hints,
    )


def from_document(document: Any) -> Iterator[ToolInfo]:
    """Yield the tools of a JSON document: a list, ``{"tools": [...]}``, an MCP answer or an OpenAPI document."""
    if isinstance(document, Mapping) and isinstance(document.get("paths"), Mapping):
        yield from _from_openapi(document)
        return
    for key in ("result", "tools", "functions"):
        if isinstance(document, Mapping) and isinstance(document.get(key), Mapping | list):
            document = document[key]
    if isinstance(document, Mapping):
        document = [document] if "name" in document or "function" in document else list(document.values())
    for item in document if isinstance(document, list) else []:
        if not isinstance(item, Mapping):
            raise ToolsError(f"a tool is {type(item).__name__}; expected an object with a name and a schema")
        yield from_json(item)


def from_json(item: Mapping[str, Any]) -> ToolInfo:
    """OpenAI's two forms, Anthropic's, MCP's and BFCL's."""
    inner = item.get("function")
    tool: Mapping[str, Any] = inner if isinstance(inner, Mapping) else item
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        raise ToolsError(f"a tool has no name: {str(dict(item))[:200]}")
    schema = _first(tool, "parameters", "inputSchema", "input_schema", "args")
    output = _first(tool, "outputSchema", "output_schema", "response", "returns")
    return ToolInfo(
        name=name,
        description=str(tool.get("description") or ""),
        parameters=schema,
        returns=fields_of(output, output),
        method=method_of(tool),
        **hints_of(tool.get("annotations")),
    )


def _from_openapi(document: Mapping[str, Any]) -> Iterator[ToolInfo]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items() if isinstance(operations, Mapping) else ():
            if (method not in READ_METHODS and method not in WRITE_METHODS) or not isinstance(
                operation, Mapping
            ):
                continue
            name = operation.get("operationId") or f"{method}_" + re.sub(r"\W+", "_", path).strip("_")
            yield ToolInfo(
                name=str(name),
                description=str(operation.get("summary") or operation.get("description") or ""),
                parameters=_openapi_parameters(operation, document),
                method=method,
            )


def _openapi_parameters(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = [p for p in operation.get("parameters", []) if isinstance(p, Mapping) and "name" in p]
    properties = {str(p["name"]): p.get("schema", {}) for p in parameters}
    required = [str(p["name"]) for p in parameters if p.get("required")]
    contents = _first(_first(operation, "requestBody"), "content").values()
    for content in contents:
        schema = resolve(_first(content, "schema"), document)
        properties.update(_first(schema, "properties"))
        needed = schema.get("required")
        required += [str(name) for name in needed] if isinstance(needed, list) else []
        break
    components = document.get("components", {})
    return {"type": "object", "properties": properties, "required": required, "components": components}


def _first(holder: Any, *keys: str) -> Mapping[str, Any]:
    """The first of several keys that holds a mapping, or an empty one."""
    values = (holder.get(key) for key in keys) if isinstance(holder, Mapping) else ()
    return next((value for value in values if isinstance(value, Mapping)), {})
