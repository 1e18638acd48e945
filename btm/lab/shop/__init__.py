"""The built-in shop: a small domain with twin tools, in which every fault can be survived or shown."""

from btm.lab.shop.environment import ShopEnvironment
from btm.lab.shop.tools import InvalidArgumentError, NotFoundError, RefusedError, ShopSession

__all__ = ["InvalidArgumentError", "NotFoundError", "RefusedError", "ShopEnvironment", "ShopSession"]
