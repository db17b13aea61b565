"""How values become more general: hierarchies with levels, and the posets beneath them."""

from sfumato.hierarchy.births import Born, DateOfBirth
from sfumato.hierarchy.bits import PowerSet
from sfumato.hierarchy.codes import Cell, SparseCodes
from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.poset import Finite, Poset, loss_of
from sfumato.hierarchy.ranges import Interval, Range
from sfumato.hierarchy.rows import PassThrough, Product, Suppression

__all__ = [
    "Born",
    "Cell",
    "DateOfBirth",
    "Finite",
    "Hierarchy",
    "Interval",
    "Matrix",
    "PassThrough",
    "Poset",
    "PowerSet",
    "Product",
    "Range",
    "SparseCodes",
    "Suppression",
    "loss_of",
]
