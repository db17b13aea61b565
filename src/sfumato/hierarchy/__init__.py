"""How values become more general: hierarchies with levels, and the posets beneath them."""

from sfumato.hierarchy.levels import Hierarchy

__all__ = ["Hierarchy"]
