"""A tree as nested lists: a box to tick on every node, its rows, and what is below it, opened on demand.

Few nodes are drawn at once, those near the top first; what has no room is a link to the same page from there
on. Nodes travel as numbers, in forms and addresses alike: their names are values of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.studio.column_tree import ColumnTree
from sfumato.studio.markup import Html, el, join
from sfumato.studio.pictures import meter
from sfumato.studio.tree_edits import chain, children
from sfumato.studio.view import PageView

_ROOM = 240  # nodes that are drawn at once
_PAGE = 120  # nodes side by side
_OPEN = 40  # nodes up to which a tree is drawn open
_MOST_TARGETS = 500


@dataclass
class TreePicture:
    """A tree on one page. place: of the column in the plan. at: the node on top. start: its first child."""

    view: PageView
    tree: ColumnTree
    place: int
    k: int
    at: int
    start: int
    fixed: bool
    _below: dict[int, list[int]] = field(default_factory=dict)

    def html(self) -> Html:
        """The way up, the nodes, and what did not fit."""
        drawn = self._fitting()
        found, t = self.tree.hierarchy, self.view.t
        nodes = self._page(self.at)
        whole = self._children(self.at)
        more = []
        for words, start in (("earlier", self.start - _PAGE), ("later", self.start + _PAGE)):
            if 0 <= start < len(whole):
                more.append(
                    el("a", t(f"hierarchies.{words}"), href=self.address(self.at, start), id=f"tree-{words}")
                )
        shown = t("hierarchies.of", first=self.start + 1, last=self.start + len(nodes), n=len(whole))
        gap = None
        if self.at == found.root and self.tree.missing:
            gap = el(
                "li",
                el(
                    "div",
                    el("span", t("hierarchies.missing")),
                    self._counts(self.tree.missing, 0),
                    class_="node",
                ),
            )
        top = el(
            "li",
            self._row(self.at, top=True),
            el("ul", [self._item(n, drawn) for n in nodes], gap),
            class_="top-node",
        )
        pages = el("p", shown, " ", join(*(join(m, " ") for m in more)), class_="small") if more else None
        return join(self._way(), el("ul", top, class_="tree", id="tree"), pages)

    def targets(self) -> Html:
        """What a node can be moved under, for who types: names of groups."""
        found = self.tree.hierarchy
        names = list(dict.fromkeys(name for level in found.labels[:0:-1] for name in level))
        return el("datalist", [el("option", value=n) for n in names[:_MOST_TARGETS]], id="tree-targets")

    def address(self, node: int, start: int = 0) -> str:
        """The same page from a node on."""
        from_ = f"&from={start}" if start else ""
        at = "" if node == self.tree.hierarchy.root else f"&at={node}"
        return f"/hierarchies?column={self.place}{at}{from_}"

    def page_of(self, parent: int, node: int) -> int:
        """From where on the children of a node are shown, so that one of them is."""
        whole = self._children(parent)
        return whole.index(node) // _PAGE * _PAGE if node in whole else 0

    # -- what fits -----------------------------------------------------------------------------------

    def _children(self, node: int) -> list[int]:
        if node not in self._below:
            found = self.tree.hierarchy
            self._below[node] = [
                int(found.nodes[chain(found, n).stop - 1, found.first_leaf[n]]) for n in children(found, node)
            ]
        return self._below[node]

    def _page(self, node: int) -> list[int]:
        return self._children(node)[self.start : self.start + _PAGE]

    def _fitting(self) -> set[int]:
        """Nodes whose children are drawn: one generation after the other, as long as a whole one has room."""
        found, generation = set[int](), self._page(self.at)
        room = _ROOM - len(generation)
        while generation:
            below = {n: self._children(n) for n in generation if self._children(n)}
            room -= sum(map(len, below.values()))
            if room < 0 or any(len(b) > _PAGE for b in below.values()):
                break
            found |= below.keys()
            generation = [n for b in below.values() for n in b]
        return found

    # -- nodes ---------------------------------------------------------------------------------------

    def _way(self) -> Html | None:
        """From * down to the node on top, as links."""
        found = self.tree.hierarchy
        if self.at == found.root:
            return None
        above, node = [], self.at
        while node != found.root:
            top = chain(found, node).stop
            node = int(found.nodes[top, found.first_leaf[node]])
            above.append(el("a", found.label(node), href=self.address(node)))
        return el(
            "p",
            self.view.t("hierarchies.way"),
            " ",
            join(*(join(a, " › ") for a in reversed(above))),
            el("strong", found.label(self.at)),
            class_="small",
        )

    def _item(self, node: int, drawn: set[int]) -> Html:
        below, found, t = self._children(node), self.tree.hierarchy, self.view.t
        inner = None
        if below and node in drawn:
            words = t("hierarchies.below", name=found.label(node), n=len(below))
            inner = el(
                "details",
                el("summary", el("span", words, class_="hidden")),
                el("ul", [self._item(n, drawn) for n in below]),
                id=f"open-{self._key(node)}",
                open=found.size <= _OPEN,
            )
        elif below:
            inner = el(
                "a",
                t("hierarchies.show", n=len(below)),
                href=self.address(node),
                class_="small show",
                id=f"show-{self._key(node)}",
                aria_label=f"{t('hierarchies.show', n=len(below))}: {found.label(node)}",
            )
        return el("li", self._row(node), inner)

    def _row(self, node: int, *, top: bool = False) -> Html:
        found, key = self.tree.hierarchy, self._key(node)
        n, values = int(self.tree.rows[node]), int(found.leaf_counts[node])
        if node == found.root:
            n += self.tree.missing
        free = not self.fixed and node != found.root
        box = el("input", type="checkbox", name="node", value=node, id=key, disabled=not free)
        return el(
            "div",
            box if free else None,
            el("label" if free else "span", found.label(node), for_=key if free else None),
            self._counts(n, values if found.level_of[node] and self._children(node) else 0),
            class_="node top" if top else "node",
            data_node=node,
            draggable="true" if free else None,
        )

    def _counts(self, n: int, values: int) -> Html:
        t = self.view.t
        said = t("hierarchies.rows", n=n)
        if values:
            said = f"{said}, {t('hierarchies.values', n=values)}"
        few = el("span", t("hierarchies.few", k=self.k), class_="few") if 0 < n < self.k else None
        share = n / self.tree.total if self.tree.total else 0.0
        return join(el("span", said, class_="small"), " ", meter(share, t.share(share)), few)

    def _key(self, node: int) -> str:
        """A name for an element that stays the same while others move."""
        found = self.tree.hierarchy
        start = 0 if node == found.root else chain(found, node).start + 1
        return f"n{start}-{hashlib.blake2b(found.label(node).encode(), digest_size=5).hexdigest()}"


def node_of(found: Mapping[str, str], name: str, size: int, default: int) -> int:
    """A number of a node, or of a place among others, from an address; the default where it is none."""
    given = found.get(name, "")
    return (
        int(given)
        if given.isascii() and given.isdigit() and len(given) < 9 and int(given) < size
        else default
    )
