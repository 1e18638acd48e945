"""Tools written as JSON: OpenAI's two forms, Anthropic's, MCP's, BFCL's, and OpenAPI documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.maps.schemas import fields_of, resolve
from btm.maps.toolinfo import READ_METHODS, WRITE_METHODS, ToolInfo, ToolsError, hints_of, method_of


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
