"""A tree on paper: lines of text, a drawing (figures 5.3 and 5.4), and the gains at a node (figure 5.5).

Drawings are Vega-Lite with the data inside, in the colours of reports, so they stand on a report's page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.prediction.structures import LEAF, GrownTree, Node
from sfumato.report import Block, Cell, DataTable, Figure, Page, Section
from sfumato.report.palette import INK, LINE, MUTED, ORIGINAL, PAPER, RELEASED

_WIDE, _HIGH = 150, 50  # pixels of a leaf with the room around it, and of a box
_LAYER = 96
_ON_A_PAGE, _IN_A_FILE = (
    16,
    64,
)  # leaves beyond which a drawing is cut: a page is narrow, a file can be zoomed
_MOST_TREES = 9  # of an ensemble, that are drawn
_TURN = 19  # letters of a test in one line of a box


def text(tree: GrownTree, target: str) -> str:
    """The tree as lines: what is asked, and at each end how many rows, and what share of them is positive."""
    lines = [f"all rows: {_share(tree.nodes[0], target)}"]
    pile = _below(tree, 0, "")
    while pile:
        place, parent, right, indent = pile.pop()
        node = tree.nodes[place]
        words = tree.words(tree.nodes[parent], negated=not right)
        tail = f": {_share(node, target)}" if node.is_leaf else f"  [{node.size} rows]"
        lines.append(f"{indent}{'└─ ' if right else '├─ '}{words}{tail}")
        pile += _below(tree, place, indent + ("   " if right else "│  "))
    return "\n".join(lines)


def texts(trees: Sequence[GrownTree], target: str) -> str:
    """Several trees, each under its alpha."""
    return "\n\n".join(f"alpha = {t.alpha:g}\n{text(t, target)}" for t in trees)


def _share(node: Node, target: str) -> str:
    return f"{node.chance:.1%} {target} of {node.size} row{'s' * (node.size != 1)}"


def _below(tree: GrownTree, place: int, indent: str) -> list[tuple[int, int, bool, str]]:
    """The two sides of a split, the one to be read first last; none below a leaf."""
    node = tree.nodes[place]
    return [] if node.is_leaf else [(node.right, place, True, indent), (node.left, place, False, indent)]


# -- the drawing -------------------------------------------------------------------------------------


def places(tree: GrownTree) -> list[tuple[float, int]]:
    """Of each node its column (leaves one apart, a split midway between its sides) and its layer."""
    columns: list[float] = [0.0] * len(tree.nodes)
    leaf = 0
    for i, node in enumerate(tree.nodes):
        if node.is_leaf:
            columns[i] = leaf
            leaf += 1
    for i in reversed(range(len(tree.nodes))):  # children stand behind their parent
        node = tree.nodes[i]
        if not node.is_leaf:
            columns[i] = (columns[node.left] + columns[node.right]) / 2
    return [(column, node.depth) for column, node in zip(columns, tree.nodes, strict=True)]


def cut(tree: GrownTree, most: int) -> GrownTree:
    """The tree down to the deepest layer that keeps at most so many leaves."""
    depth = tree.depth
    while depth and sum(n.depth == depth or (n.is_leaf and n.depth < depth) for n in tree.nodes) > most:
        depth -= 1
    if depth == tree.depth:
        return tree
    kept = [i for i, n in enumerate(tree.nodes) if n.depth <= depth]
    new = {old: i for i, old in enumerate(kept)} | {LEAF: LEAF}
    nodes = []
    for old in kept:
        n = tree.nodes[old]
        end = n.depth == depth
        nodes.append(
            Node(n.positives, n.size, n.depth, LEAF if end else n.variable, LEAF if end else n.test,
                 LEAF if end else new[n.left], LEAF if end else new[n.right])
        )  # fmt: skip
    return GrownTree(tuple(nodes), tree.variables, tree.alpha)


def spec(tree: GrownTree, target: str) -> dict[str, Any]:
    """The drawing as Vega-Lite: boxes for tests, filled boxes for leaves, yes to the right."""
    at = places(tree)
    boxes, edges = [], []
    for node, (x, y) in zip(tree.nodes, at, strict=True):
        px, py = (x + 0.5) * _WIDE, y * _LAYER + _HIGH / 2 + 6
        words = f"{node.chance:.0%} {target}" if node.is_leaf else f"{tree.words(node)}?"
        boxes.append({
            "x": px - _WIDE / 2 + 4, "x2": px + _WIDE / 2 - 4, "y": py - _HIGH / 2, "y2": py + _HIGH / 2,
            "cx": px, "cy": py, "line": _turned(words), "below": f"n = {node.size:,}", "leaf": node.is_leaf,
            "share": node.chance, "said": f"{words} {node.positives} of {node.size} rows are {target}.",
        })  # fmt: skip
        for child, side in ((node.left, "no"), (node.right, "yes")):
            if child != LEAF:
                cx, cy = (at[child][0] + 0.5) * _WIDE, at[child][1] * _LAYER + 6
                edges.append({
                    "x": px, "y": py + _HIGH / 2, "x2": cx, "y2": cy, "side": side,
                    "mx": px + (cx - px) * 0.55, "my": py + _HIGH / 2 + (cy - py - _HIGH / 2) * 0.55,
                })  # fmt: skip
    width, height = len(tree.leaves) * _WIDE, tree.depth * _LAYER + _HIGH + 12
    return {
        "width": width, "height": height,
        "layer": _layers(boxes, edges, width, height),
    }  # fmt: skip


def _turned(words: str) -> list[str]:
    """A long test in two lines, the second cut if need be."""
    if len(words) <= _TURN or " " not in words:
        return [_short(words)]
    at = words.rfind(" ", 0, _TURN + 1)
    if words[:at].endswith((" >", " =", " above")):  # the sign goes with what it compares to
        at = words.rfind(" ", 0, at)
    at = at if at > 0 else words.find(" ")
    return [_short(words[:at]), _short(words[at + 1 :])]


def _short(words: str) -> str:
    return words if len(words) <= _TURN + 2 else words[: _TURN + 1] + "…"


def _layers(boxes: list[Any], edges: list[Any], width: float, height: float) -> list[Any]:
    def place(field: str, top: float) -> dict[str, Any]:
        domain = [top, 0] if field.endswith("y") else [0, top]  # downwards, as pages are read
        scale = {"domain": domain, "nice": False}
        return {"field": field, "type": "quantitative", "axis": None, "scale": scale}

    box = {"x": place("x", width), "x2": {"field": "x2"}, "y": place("y", height), "y2": {"field": "y2"}}
    said = {"description": {"field": "said"}}

    def lines(field: str, dy: float, size: int, weight: int, rows: int = 0) -> dict[str, Any]:
        return {
            "data": {"values": [b for b in boxes if rows in (0, len(b["line"]))]},
            "mark": {"type": "text", "dy": dy, "fontSize": size, "fontWeight": weight, "lineHeight": 12},
            "encoding": {
                "x": place("cx", width), "y": place("cy", height), "text": {"field": field},
                "color": {"value": INK},
            },
        }  # fmt: skip

    return [
        {"data": {"values": edges}, "mark": {"type": "rule", "stroke": MUTED, "strokeWidth": 1.2},
         "encoding": box},
        {"data": {"values": edges},
         "mark": {"type": "text", "fontSize": 10, "dx": 0, "dy": -2, "stroke": PAPER, "strokeWidth": 4},
         "encoding": {"x": place("mx", width), "y": place("my", height), "text": {"field": "side"},
                      "color": {"value": PAPER}}},
        {"data": {"values": edges}, "mark": {"type": "text", "fontSize": 10, "dy": -2},
         "encoding": {"x": place("mx", width), "y": place("my", height), "text": {"field": "side"},
                      "color": {"value": MUTED}}},
        {"data": {"values": [b for b in boxes if not b["leaf"]]},
         "mark": {"type": "rect", "cornerRadius": 5, "fill": PAPER, "stroke": ORIGINAL, "strokeWidth": 1.5},
         "encoding": box | said},
        {"data": {"values": [b for b in boxes if b["leaf"]]},
         "mark": {"type": "rect", "cornerRadius": 14, "fill": PAPER, "stroke": LINE, "strokeWidth": 1.5},
         "encoding": box | said},
        {"data": {"values": [b for b in boxes if b["leaf"]]},
         "mark": {"type": "rect", "cornerRadius": 14, "fill": RELEASED, "stroke": None},
         "encoding": box | said | {"fillOpacity": {
             "field": "share", "type": "quantitative", "legend": None,
             "scale": {"domain": [0, 1], "range": [0.0, 0.55]}}}},
        lines("line", -7, 11, 600, rows=1),
        lines("line", -13, 11, 600, rows=2),
        lines("below", 16, 10, 400),
    ]  # fmt: skip


def svg(tree: GrownTree, target: str) -> str:
    """The tree as one SVG file."""
    from sfumato.report.svg import draw

    drawn = draw(spec(cut(tree, _IN_A_FILE), target), identity="tree", label=f"A decision tree for {target}")
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="Arial" ', 1)


# -- on a page ---------------------------------------------------------------------------------------


def tree_figure(tree: GrownTree, target: str, title: str) -> Figure:
    """The drawing with its rules as a table."""
    shown = cut(tree, _ON_A_PAGE)
    rows: list[list[Cell]] = [[rule, n.size, round(n.chance, 4)] for rule, n in rules(tree)]
    less = ""
    if shown is not tree:
        less = f" The first {shown.depth} of {tree.depth} layers are drawn; the table below has all leaves."
    return Figure(
        spec(shown, target), title,
        f"A tree of {len(tree.leaves)} leaves. Rows that pass a test go right. A leaf says the share of "
        f"{target} among its rows, and is the more coloured the larger that is.{less}",
        table=DataTable(("rule", "rows", f"share of {target}"), rows, "The leaves as rules", folded=True),
    )  # fmt: skip


def rules(tree: GrownTree) -> list[tuple[str, Node]]:
    """Every leaf with the tests on its way, in words."""
    ways: dict[int, tuple[str, ...]] = {0: ()}
    out = []
    for i, node in enumerate(tree.nodes):
        way = ways.pop(i)
        if node.is_leaf:
            out.append((" and ".join(way) or "all rows", node))
            continue
        ways[node.left] = (*way, tree.words(node, negated=True))
        ways[node.right] = (*way, tree.words(node))
    return out


def gains_figure(tree: GrownTree, place: int, title: str) -> Figure:
    """What each variable offered at a node, as figure 5.5: the gain, with its range over the 8 cases."""
    node = tree.nodes[place]
    ranged = any(c.lambda_ > 0 for c in node.candidates)
    found = sorted(node.candidates, key=lambda c: -c.gain)[:24]
    values = [
        {"variable": tree.variables[c.variable].name, "gain": min(c.gain, 1e300),
         "kappa": min(c.kappa, 1e300), "lambda": min(c.lambda_, 1e300), "chosen": c.variable == node.variable,
         "said": f"{tree.variables[c.variable].words(c.test)}: gain {c.gain:.4g}"}
        for c in found
    ]  # fmt: skip
    y = {
        "field": "variable", "type": "nominal", "title": None,
        "sort": [v["variable"] for v in values],
    }  # fmt: skip
    bars: dict[str, Any] = {
        "mark": {"type": "bar", "height": {"band": 0.6}},
        "encoding": {
            "y": y,
            "x": {"field": "gain", "type": "quantitative", "title": f"alpha-gain, alpha = {tree.alpha:g}"},
            "color": {"condition": {"test": "datum.chosen", "value": RELEASED}, "value": ORIGINAL},
            "description": {"field": "said"},
        },
    }  # fmt: skip
    whiskers = {
        "mark": {"type": "rule", "strokeWidth": 2, "stroke": INK},
        "encoding": {
            "y": y, "x": {"field": "kappa", "type": "quantitative"}, "x2": {"field": "lambda"},
        },
    }  # fmt: skip
    range_ = " The line is the range of the gain over all data sets one row away." if ranged else ""
    columns = ("test", "gain") + (("least", "largest") if ranged else ())
    rows: list[list[Cell]] = [
        [tree.variables[c.variable].words(c.test), c.gain, *([c.kappa, c.lambda_] if ranged else [])]
        for c in found
    ]
    drawing = {
        "data": {"values": values}, "width": 420, "height": max(18 * len(values), 36),
        "layer": [bars, whiskers] if ranged else [bars],
    }  # fmt: skip
    chosen = "nothing was chosen" if node.is_leaf else f"{tree.words(node)} was chosen"
    return Figure(
        drawing, title, f"The gain of the best test of each variable at this node; {chosen}.{range_}",
        table=DataTable(columns, rows, "Gains", folded=True),
        key=[("chosen", RELEASED), ("not chosen", ORIGINAL)] if not node.is_leaf else (),
    )  # fmt: skip


def tree_page(
    trees: Sequence[GrownTree], target: str, title: str, stamp: str, first: Sequence[Section] = ()
) -> Page:
    """Trees as an internal report, the first in detail: it is computed from the original."""
    tree = trees[0]
    root = tree.nodes[0]
    counted: list[list[Cell]] = [
        ["rows", root.size], [f"share of {target}", f"{root.chance:.1%}"], ["alpha", tree.alpha],
        ["leaves", len(tree.leaves)], ["layers", tree.depth],
    ]  # fmt: skip
    how = "A row starts at the top. Where the answer is yes it goes right."
    figures: list[Block] = [
        tree_figure(tree, target, "Tests and leaves"),
        DataTable(("", ""), counted, "In figures"),
    ]
    sections = [Section("The tree", how, figures)]
    sections += _reasons(tree)
    if len(trees) > 1:
        drawn = [tree_figure(t, target, f"alpha = {t.alpha:g}") for t in trees[1:_MOST_TREES]]
        less = "" if len(trees) <= _MOST_TREES else f" {len(trees) - _MOST_TREES} more are not drawn."
        prose = f"Other alphas gave {len(trees) - 1} other structures, all with equal weight.{less}"
        sections.append(Section("The other trees", prose, drawn))
    return Page(title, stamp or "a tree of sfumato", [*first, *sections])


def _reasons(tree: GrownTree) -> list[Section]:
    """Why the first split is what it is and, where ranges decide, why the largest mixed leaf has none."""
    sections = []
    if tree.nodes[0].candidates and not tree.nodes[0].is_leaf:
        why = "Why the first split is what it is."
        sections.append(Section("At the root", why, [gains_figure(tree, 0, "A split")]))
    stopped = [i for i, n in enumerate(tree.nodes) if n.is_leaf and any(c.lambda_ > 0 for c in n.candidates)]
    if stopped:
        place = max(stopped, key=lambda i: tree.nodes[i].size)
        way = next(words for words, n in rules(tree) if n is tree.nodes[place])
        why = f"No variable stays ahead of all others, whichever single row comes or goes: {way}."
        sections.append(Section("Where it stopped", why, [gains_figure(tree, place, "No split")]))
    return sections
