"""From a domain and its fallback map to what the injector has to know of each tool."""

from __future__ import annotations

from btm.fallback import FallbackMap, ToolRole
from btm.lab.environment import Environment
from btm.lab.faults.shape import DAY, Shapes, ToolShape


def shapes_of(environment: Environment, fallback_map: FallbackMap) -> Shapes:
    """Return the shapes of a domain's tools: their effects, and the fields that the map declares.

    The way to a human never fails, and neither does what renews a login, or what the user does with their own device.
    """
    by_user = (name for name, spec in environment.tools.items() if spec.by_user)
    return Shapes(
        {name: _shape(environment, fallback_map, name) for name in environment.tools},
        exempt=frozenset((*fallback_map.escalations(), *by_user)),
        repairs=frozenset(
            name for name, entry in fallback_map.tools.items() if entry.role is ToolRole.REPAIR
        ),
    )


def _shape(environment: Environment, fallback_map: FallbackMap, tool: str) -> ToolShape:
    effect = environment.tools[tool].effect
    entry = fallback_map.tools.get(tool)
    if entry is None:
        return ToolShape(effect)
    expect, check = entry.expect, entry.cross_check
    fresh = expect.fresh if expect else None
    return ToolShape(
        effect,
        required=expect.required if expect else (),
        fresh=fresh.field if fresh else None,
        within_s=fresh.within if fresh else DAY,
        compared=check.compare if check else (),
    )
