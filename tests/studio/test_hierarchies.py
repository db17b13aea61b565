"""Hierarchies: trees with the right counts, every change an edit that can be undone, tables in and out."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from windows import Window, opened, prepared

import sfumato as sf
from sfumato.hierarchy import Hierarchy, parse_levels, read_levels
from sfumato.plan import Plan
from sfumato.studio.column_tree import ColumnTree

ROWS = [
    (f"hospital {i % 24}", f"county {i % 24 // 3}", f"region {i % 24 // 12}", 18 + 7 * i % 60, "abc"[i % 3])
    for i in range(240)
]
TEXT = "hospital,county,region,age,dx\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
AGE = "age"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("hierarchies"), TEXT)


@pytest.fixture
def window(made: Path) -> Iterator[Window]:
    with opened(made) as found:
        yield found
        assert found.faults == []
        while found.studio.plan_folder is not None and found.studio.plan_folder.undoable:
            found.studio.plan_folder.undo()


def folder(window: Window) -> Path:
    assert window.studio.plan_folder is not None
    return window.studio.plan_folder.folder


def columns(window: Window) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads((folder(window) / "plan.toml").read_text("utf-8"))[
        "columns"
    ]
    return found


def place(window: Window, name: str) -> int:
    return list(columns(window)).index(name)


def page(window: Window, name: str, more: str = "") -> str:
    reply = window.get(f"/hierarchies?column={place(window, name)}{more}")
    assert reply.status == 200
    return reply.text


def nodes(text: str) -> dict[str, int]:
    """The number of every node that is drawn, by its name."""
    found = re.findall(r'<input type="checkbox" name="node" value="(\d+)"[^>]*><label[^>]*>([^<]*)<', text)
    return {name: int(number) for number, name in found}


def do(window: Window, name: str, what: str, *, label: str = "", target: str = "", **more: object) -> Any:
    mark = re.search(r'name="tree" value="(\w+)"', page(window, name))
    assert mark is not None
    where = f"/hierarchies/change?column={place(window, name)}"
    return window.raw_post(where, do=what, tree=mark[1], label=label, target=target, **more)


def table_of(window: Window, name: str) -> Hierarchy:
    return read_levels(folder(window) / columns(window)[name]["hierarchy"]["file"])


def test_every_node_says_how_many_rows_it_holds(window: Window) -> None:
    text = page(window, AGE)
    drawn = dict(re.findall(r'<label[^>]*>([^<]*)</label><span class="small">(one|[\d,]+) rows?', text))
    ages = Counter(row[3] for row in ROWS)
    assert drawn.pop("20-39") == str(sum(n for age, n in ages.items() if 20 <= age < 40))
    assert drawn["20-24"] == str(sum(n for age, n in ages.items() if 20 <= age < 25))
    assert {k: int(n) for k, n in drawn.items() if k.isdigit()} == {str(a): n for a, n in ages.items()}
    assert all(f"region {r}" in page(window, "hospital") for r in (0, 1))  # along other columns


def test_a_change_is_a_table_of_levels_that_is_read_elsewhere_and_undone(window: Window) -> None:
    before = (folder(window) / "plan.toml").read_text("utf-8")
    known = nodes(page(window, AGE))
    reply = do(window, AGE, "move", node=known["20-24"], target="40-59")
    assert reply.status == 303
    assert re.fullmatch(r"/hierarchies\?column=\d+", reply.headers["location"])  # no value in an address
    assert columns(window)[AGE]["hierarchy"] == {"recipe": "levels", "file": "hierarchies/age.csv"}
    assert columns(window)[AGE]["reviewed"] is False  # nobody has looked at the role
    assert all(
        row[2:] == ("20-24", "40-59", "*") for row in table_of(window, AGE).rows() if row[1] == "20-24"
    )
    assert isinstance(window.studio.plan_folder and window.studio.plan_folder.plan, Plan)
    assert (folder(window) / "hierarchies" / "age.csv").stat().st_mode & 0o077 == 0
    assert (
        do(window, AGE, "rename", node=nodes(page(window, AGE))["20-24"], label="early twenties").status
        == 303
    )
    assert "early twenties" in table_of(window, AGE).labels[1]
    moved = table_of(window, AGE)
    for _ in range(2):
        reply = window.post("/plan/undo", screen="hierarchies", query=f"column={place(window, AGE)}")
        assert 'id="column">age<' in reply.text  # one stays at the column
    assert (folder(window) / "plan.toml").read_text("utf-8") == before
    assert not (folder(window) / "hierarchies" / "age.csv").exists()
    window.post("/plan/redo", screen="hierarchies")
    window.post("/plan/redo", screen="hierarchies")
    assert table_of(window, AGE) == moved
    assert "age: a node renamed" in window.get("/plan").text


def test_dragging_and_the_other_buttons(window: Window) -> None:
    known = nodes(page(window, AGE))
    assert do(window, AGE, "drop", dragged=known["20-24"], onto=known["25-29"]).status == 303  # one of both
    assert "20-24" not in table_of(window, AGE).labels[1]
    known = nodes(page(window, AGE))
    assert do(window, AGE, "drop", dragged=known["18"], onto=known["25-29"]).status == 303  # below it
    found = table_of(window, AGE)
    assert {row[0] for row in found.rows() if row[1] == "25-29"} == {"18", *map(str, range(20, 30))} & set(
        found.leaves
    )
    known = nodes(page(window, AGE))
    assert do(window, AGE, "group", node=known["18"], label="eighteen").status == 303
    assert do(window, AGE, "split", node=nodes(page(window, AGE))["40-59"]).status == 303
    assert "40-59" not in table_of(window, AGE).labels[3] and "40-49" in table_of(window, AGE).labels[3]
    mark = re.search(r'name="tree" value="(\w+)"', page(window, AGE))
    assert mark is not None
    window.post(f"/hierarchies/level?column={place(window, AGE)}", level=2, tree=mark[1])
    assert table_of(window, AGE).height == 3


def test_what_is_no_tree_is_refused_and_changes_nothing(window: Window) -> None:
    known, before = nodes(page(window, AGE)), window.studio.plan_folder and window.studio.plan_folder.texts
    number = place(window, AGE)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"what": "rename", "node": known["20-24"], "label": "25-29"}, "another node"),
        ({"what": "rename", "node": known["20-24"], "label": ""}, "needs a name"),
        ({"what": "move", "node": known["20-39"], "target": "20-24"}, "a cycle"),
        ({"what": "move", "node": known["20-24"], "target": "nobody"}, "no node has this name"),
        ({"what": "move", "target": "*"}, "tick a node"),
        ({"what": "drop", "dragged": "x", "onto": "1"}, "no such node"),
        ({"what": "split", "node": 10**8}, "no such node"),
        ({"what": "melt", "node": known["20-24"]}, "no such thing"),
    ]
    for case, about in cases:
        reply = do(window, AGE, **case)
        assert reply.status == 422 and about in reply.text, case
        assert 'id="column">age<' in reply.text
    stale = window.post(f"/hierarchies/change?column={number}", do="split", tree="0", node=1)
    assert stale.status == 409
    paste, table = f"/hierarchies/table?column={number}", f"/hierarchies/take?column={number}"
    for path, fields, about in (
        (paste, {"levels": "18;x;*\n18;y;*\n"}, "occurs more than once"),
        (paste, {"levels": "18;teens;*\n25;twenties;*\n"}, "values of the column are not in the table"),
        (paste, {"levels": ""}, "no table"),
        (paste, {"file": "../visits.csv"}, "no such table"),
        (paste, {"file": "/etc/passwd"}, "no such table"),
        (table, {"recipe": "intervals", "set-widths": "5, 7"}, "multiple"),
        (table, {"recipe": "calendar"}, "values are"),
        (table, {"recipe": "levels"}, "no such recipe"),
        ("/hierarchies/accept", {"column": "age"}, "do not nest"),
        ("/hierarchies/change?column=99999", {"do": "split"}, ""),
        (f"/hierarchies/find?column={number}", {"words": "zebra"}, "nothing in the tree"),
    ):  # fmt: skip
        reply = window.post(path, **fields)
        assert reply.status == 422 and about in reply.text, (path, fields)
    assert window.studio.plan_folder is not None and window.studio.plan_folder.texts == before


def test_tables_of_levels_in_and_out(window: Window) -> None:
    number = place(window, AGE)
    out = window.get(f"/hierarchies/{number}/levels.csv")
    assert out.status == 200 and out.headers["content-disposition"].startswith("attachment")
    assert window.get("/hierarchies/999/levels.csv").status == 404
    half = "".join(out.text.splitlines(keepends=True)[:10])
    (folder(window) / "mine.csv").write_text(half, encoding="utf-8")
    assert 'value="mine.csv"' in page(window, AGE)
    assert window.post(f"/hierarchies/table?column={number}", file="mine.csv").status == 422
    assert window.post(f"/hierarchies/table?column={number}", file="mine.csv", add="yes").status == 200
    found = table_of(window, AGE)
    assert found.rows()[:10] == parse_levels(half).rows() and set(found.leaves) == {str(r[3]) for r in ROWS}
    assert (folder(window) / "mine.csv").read_text("utf-8") == half  # it was copied
    kept = folder(window) / "hierarchies" / "age.csv"
    kept.write_text(half, encoding="utf-8")  # by an editor: values are missing now
    window.get("/state")  # as the page asks every second
    assert "are not in the table of levels" in page(window, AGE) and "Put the values" in page(window, AGE)
    window.post(f"/hierarchies/cover?column={number}")
    assert table_of(window, AGE) == found
    window.post(f"/hierarchies/table?column={number}", levels=out.text.replace("\n", "\r\n"))
    assert window.get(f"/hierarchies/{number}/levels.csv").text == out.text


def test_recipes_and_columns_that_nest(window: Window) -> None:
    number = place(window, AGE)
    assert "ages in years" in page(window, AGE) and 'name="set-widths"' in page(
        window, AGE, "&recipe=intervals"
    )
    window.post(f"/hierarchies/take?column={number}", **{"recipe": "intervals", "set-widths": "10, 50"})
    assert columns(window)[AGE]["hierarchy"] == {"recipe": "intervals", "widths": [10, 50]}
    chain = columns(window)["hospital"]["hierarchy"]
    assert chain == {"recipe": "columns", "above": ["county", "region"]}  # as init proposes it
    assert "hierarchy" not in columns(window)["county"]
    assert "a level of another" in page(window, "county")
    assert nodes(page(window, "hospital")) == {}  # not to be changed by hand
    window.post(f"/hierarchies/apart?column={place(window, 'hospital')}")
    assert table_of(window, "hospital").rows()[0] == ("hospital 0", "county 0", "region 0", "*")
    assert columns(window)["county"]["hierarchy"] and columns(window)["region"]["hierarchy"]
    assert "hospital &lt; county &lt; region" in page(window, "hospital")
    window.post("/hierarchies/accept", column="hospital")
    assert columns(window)["hospital"]["hierarchy"] == chain and "hierarchy" not in columns(window)["region"]
    assert isinstance(window.studio.plan_folder and window.studio.plan_folder.plan, Plan)


def test_the_loss_that_is_said_is_the_least_there_can_be() -> None:
    """Held against a release of this column alone, and of two."""
    rows = Counter(row[3] for row in ROWS) | {17: 2}
    found = sf.hierarchy.ages((5, 10, 20)).over(sorted(rows))
    tree = ColumnTree.of(AGE, found, {str(v): n for v, n in rows.items()}, 3)
    k = 12
    said = tree.least_loss(k)
    loss = {"*": 1.0} | {
        found.label(n): float((found.leaf_counts[n] - 1) / len(found.leaves)) for n in range(found.root)
    }
    ages: list[int | None] = [v for v, n in rows.items() for _ in range(n)] + [None] * 3
    sexes = ["fm"[i % 5 % 2] for i in range(len(ages))]
    table = sf.scan(pa.table({"age": ages, "sex": sexes}))
    lost = {}
    for known in (["age"], ["age", "sex"]):
        method = sf.LocalRecoding(effort="fast", work_limit=10**9)
        release = sf.anonymize(
            table.select(known), sf.KAnonymity(k), method=method, seed=1,
            hierarchies={"age": found, "sex": sf.hierarchy.Suppression()}, quasi_identifiers=known,
        )  # fmt: skip
        cells = release.counts("age").to_arrow().to_pylist()
        lost[len(known)] = sum(c["n"] * loss.get(str(c["age"]), 1.0) for c in cells) / len(ages)
    assert 0 < said <= lost[1] + 1e-12 and lost[1] <= lost[2] + 1e-12
    level = tree.levels(k)
    assert [x.level for x in level] == [0, 1, 2, 3, 4] and level[-1].loss == 1.0 and level[0].loss == 0.0
    assert level[-1].few == 0 and level[0].few == sum(n for n in rows.values() if n < k) + 3
    assert np.all(np.diff([x.loss for x in level]) >= 0) and said <= next(x.loss for x in level if not x.few)


def test_a_large_code_list_is_opened_on_demand(tmp_path: Path) -> None:
    values = [f"{i:04d}" for i in range(6_000)]
    text = "plz,sex\n" + "".join(f"{v},{'fm'[i % 2]}\n" for i, v in enumerate(values))
    with opened(prepared(tmp_path, text)) as window:
        window.post("/columns/role", column="plz", role="quasi-identifier")
        number = place(window, "plz")
        window.post(f"/hierarchies/take?column={number}", **{"recipe": "prefixes", "set-keep": "2, 1"})
        whole = page(window, "plz")
        assert len(whole) < 200_000 and "0042" not in nodes(whole)
        there = window.post(f"/hierarchies/find?column={number}", words="0142")
        assert "0142" in nodes(there.text) and "0042" not in nodes(there.text)
        known = nodes(there.text)
        inside = re.search(r"at=(\d+)&amp;from=\d+|at=(\d+)", there.text)
        assert inside is not None
        mark = re.search(r'name="tree" value="(\w+)"', there.text)
        assert mark is not None
        at = inside[1] or inside[2]
        reply = window.raw_post(
            f"/hierarchies/change?column={number}&at={at}",
            do="move",
            tree=mark[1],
            node=known["0142"],
            target="02**",
        )
        assert reply.status == 303 and "at=" in reply.headers["location"]  # one stays where one was
        assert next(r for r in table_of(window, "plz").rows() if r[0] == "0142") == (
            "0142",
            "02**",
            "0***",
            "*",
        )
        out = window.get(f"/hierarchies/{number}/levels.csv").text
        assert out.startswith("0000;00**;0***;*\n")
        assert window.faults == []


def test_nothing_can_be_changed_where_nothing_may_be(made: Path) -> None:
    with opened(made, read_only=True) as window:
        text = page(window, AGE)
        assert "20-39" in text and nodes(text) == {} and "levels-text" not in text
        assert window.post(f"/hierarchies/table?column={place(window, AGE)}", levels="a;*").status == 403
