"""No small cell of an analysis follows from all of its tables together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sfumato.checked import Analysis, OutputLimits

pd = pytest.importorskip("pandas")

LIMIT = 10


@pytest.fixture(scope="module")
def people():
    """Three hundred people, of whom some are in small groups."""
    draw = np.random.default_rng(5)
    n = 300
    return pd.DataFrame(
        {
            "ward": draw.choice(list("abcd"), n, p=[0.5, 0.3, 0.13, 0.07]),
            "sex": draw.choice(["f", "m"], n),
            "smokes": draw.choice(["never", "once", "often"], n, p=[0.6, 0.3, 0.1]),
            "age": draw.integers(20, 90, n),
            "cost": draw.gamma(2.0, 300.0, n).round(2),
        }
    )


def told(people, columns: list[str], tables) -> dict[tuple[str, ...], tuple[float, float]]:
    """What a reader knows of each inner cell by all columns: two linear programs, nothing of ours.

    tables: frames by (row column, column column), with or without totals; a missing number is withheld.
    """
    from scipy.optimize import linprog

    labels = [sorted(people[c].unique()) for c in columns]
    cells = list(itertools.product(*labels))
    rows, values = [], []
    for (down, across), frame in tables:
        for i, j in itertools.product(frame.index, frame.columns):
            if frame.loc[i, j] == frame.loc[i, j]:
                asked = [(down, i), (across, j)]
                rows.append(
                    [
                        all(v == "All" or c is None or cell[columns.index(c)] == v for c, v in asked)
                        for cell in cells
                    ]
                )
                values.append(frame.loc[i, j])
    a, b = np.array(rows, float), np.array(values, float)
    found = {}
    for k, cell in enumerate(cells):
        ends = []
        for sign in (1, -1):
            cost = np.zeros(len(cells))
            cost[k] = sign
            ends.append(sign * linprog(cost, A_eq=a, b_eq=b, bounds=(0, None), method="highs").fun)
        found[cell] = tuple(ends)
    return found


def small(people, columns: list[str]) -> dict[tuple[str, ...], int]:
    counts = people.groupby(columns).size()
    return {cell: int(n) for cell, n in counts.items() if n < LIMIT}


def test_one_way_tables_do_not_open_a_two_way_table(people) -> None:
    columns = ["ward", "smokes"]
    hidden = small(people, columns)
    assert hidden
    plain = pd.crosstab(people["ward"], people["smokes"], margins=True)
    masked = plain.mask(plain < LIMIT)
    naive = told(people, columns, [(columns, masked)])
    assert any(high - low < 1e-6 for cell, (low, high) in naive.items() if cell in hidden)

    analysis = Analysis()
    ward = analysis.crosstab(people["ward"], np.full(len(people), "n"))
    smokes = analysis.crosstab(people["smokes"], np.full(len(people), "n"))
    both = analysis.crosstab(people["ward"], people["smokes"], margins=True)
    found = told(people, columns, [((columns[0], None), ward), ((columns[1], None), smokes), (columns, both)])
    for cell in hidden:
        assert found[cell][0] <= 1e-6 and found[cell][1] >= LIMIT - 1 - 1e-6
    assert set(analysis.judge().values()) == {"pass"}


def test_tables_that_share_a_column_are_judged_together(people) -> None:
    columns = ["ward", "sex", "smokes"]
    analysis = Analysis()
    pairs = [("ward", "sex"), ("ward", "smokes"), ("sex", "smokes")]
    tables = [(p, analysis.crosstab(people[p[0]], people[p[1]], margins=True)) for p in pairs]
    found = told(people, columns, tables)
    for pair in pairs:
        for cell in small(people, list(pair)):
            inside = [
                e
                for c, e in found.items()
                if all(c[columns.index(n)] == v for n, v in zip(pair, cell, strict=True))
            ]
            assert sum(high for _, high in inside) > sum(low for low, _ in inside) + 1
    assert set(analysis.judge().values()) == {"pass"}


def test_a_filter_that_leaves_a_few_people_out_tells_nothing_of_them(people) -> None:
    """Two tables, of all and of those below 87, differ by the oldest, cell by cell."""
    younger = people[people["age"] < 87]
    assert 0 < len(people) - len(younger) < LIMIT + 10
    analysis = Analysis()
    one = analysis.crosstab(people["ward"], people["sex"], margins=True)
    two = analysis.crosstab(younger["ward"], younger["sex"], margins=True)
    gap = (one - two).to_numpy()
    known = gap[~np.isnan(gap)]
    assert ((known == 0) | (known >= LIMIT)).all()
    plain = pd.crosstab(people["ward"], people["sex"]) - pd.crosstab(younger["ward"], younger["sex"])
    assert ((plain > 0) & (plain < LIMIT)).any(axis=None)  # which naive tables would have told
    assert set(analysis.judge().values()) == {"pass"}


def test_bands_and_what_they_are_made_of_are_linked(people) -> None:
    """A band of a column less the parts of it that another table shows is what that one withholds."""
    decade = (people["age"] // 10 * 10).rename("decade")
    half = (people["age"] // 5 * 5).rename("half")
    n = np.full(len(people), "n")
    analysis = Analysis(OutputLimits(threshold=25))
    by_decade, by_half = analysis.crosstab(decade, n)["n"], analysis.crosstab(half, n)["n"]
    counts = half.value_counts()
    assert ((counts > 0) & (counts < 25)).any()
    for start in by_decade.dropna().index:
        parts = by_half.reindex([start, start + 5]).dropna()
        assert len(parts) != 1 or counts[start] == 0 or counts[start + 5] == 0


def test_means_do_not_give_a_small_group_away(people) -> None:
    analysis = Analysis()
    means = analysis.pivot_table(people, values="cost", index="ward", columns="smokes", margins=True)
    counts = pd.crosstab(people["ward"], people["smokes"])
    shown = means.drop(index="All", columns="All").notna()
    assert not (shown & (counts < LIMIT)).any(axis=None)
    for _, row in shown.iterrows():  # a total shows the only cell that is withheld
        assert (~row).sum() != 1 or not bool(means.loc[row.name].notna()["All"])
    assert analysis["output_0"].decision == "pass"


def test_whoever_dominates_a_sum_is_not_told(people) -> None:
    rich = people.assign(
        cost=people["cost"].where(people.index != people.index[people["ward"] == "b"][0], 1e7)
    )
    table = Analysis().pivot_table(rich, values="cost", index="ward", aggfunc="sum")
    assert np.isnan(table.loc["b", "cost"]) and not table["cost"].isna().all()


def test_the_mean_of_two_values_is_two_counts(people) -> None:
    """Three of fifty died: the mean says so."""
    died = people.assign(died=0)
    died.loc[died.index[died["ward"] == "b"][:3], "died"] = 1
    died.loc[died.index[died["ward"] == "a"][:40], "died"] = 1
    table = Analysis().pivot_table(died, values="died", index="ward")
    assert table["died"].isna()["b"] and table["died"].notna()["a"]
    assert table["died"].isna()[["c", "d"]].all()  # nobody died: a zero
    shown = Analysis(OutputLimits(zeros=False)).pivot_table(died, values="died", index="ward")
    assert shown["died"].isna()["b"] and shown["died"].notna().sum() >= 1


def test_a_table_by_exact_values_is_for_review(people) -> None:
    analysis = Analysis()
    analysis.crosstab(people["cost"].iloc[:60], people["sex"].iloc[:60])
    assert analysis["output_0"].decision == "review"


def test_what_earlier_outputs_show_counts_as_known(people) -> None:
    analysis = Analysis()
    analysis.crosstab(people["ward"], people["smokes"])
    total = analysis.crosstab(people["ward"], np.full(len(people), "n"))["n"]
    shown = pd.crosstab(people["ward"], people["smokes"])
    first = analysis["output_0"].frames[0]
    for ward in first.index:
        gone = first.loc[ward].isna()
        if gone.sum() == 1 and shown.loc[ward][gone].iloc[0] < LIMIT:
            assert np.isnan(total[ward])


def test_small_cells_that_are_shown_are_refused_and_do_not_count(people) -> None:
    analysis = Analysis(small="show")
    frame = analysis.crosstab(people["ward"], people["smokes"])
    assert frame.equals(pd.crosstab(people["ward"], people["smokes"]))
    assert analysis["output_0"].decision == "refused"
    analysis.small = "withhold"
    again = analysis.crosstab(people["ward"], people["smokes"], margins=True)
    assert again.isna().any(axis=None) and analysis["output_1"].decision == "pass"
    analysis.request("output_0", "the head of the clinic agreed")
    verdicts = analysis.judge()  # if that one leaves, the other hides nothing
    assert verdicts == {"output_0": "refused", "output_1": "refused"}
    analysis.remove("output_0")
    assert analysis.judge() == {"output_1": "pass"}


def test_rounded_counts_are_judged_by_what_is_left(people) -> None:
    analysis = Analysis(small="round")
    frame = analysis.crosstab(people["ward"], people["smokes"])
    assert (frame.to_numpy() % 5 == 0).all() and analysis["output_0"].decision == "pass"
    exact = Analysis(OutputLimits(base=2), small="round")
    exact.crosstab(people["ward"], people["smokes"])
    assert exact["output_0"].decision in ("pass", "review")


def test_persons_are_counted_not_rows() -> None:
    """Twelve rows of two persons are two people."""
    data = pd.DataFrame({"ward": ["a"] * 12 + ["b"] * 30, "who": [0, 1] * 6 + list(range(2, 32))})
    n = np.full(len(data), "n")
    assert not Analysis().crosstab(data["ward"], n).isna().any(axis=None)
    assert Analysis(persons=data["who"]).crosstab(data["ward"], n)["n"].isna().tolist() == [True, False]


def test_rows_numbered_anew_are_noticed(people) -> None:
    analysis = Analysis()
    analysis.crosstab(people["ward"], people["sex"])
    other = people[people["age"] > 40].reset_index(drop=True)
    analysis.crosstab(other["ward"], other["sex"])
    assert analysis["output_1"].decision == "review"
    assert "numbered anew" in " ".join(analysis["output_1"].reasons)
