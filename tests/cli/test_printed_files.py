"""Commands that pages about one file print, run as they stand: the list of all, and one method a page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cli_support import Sfumato
from printed import Play
from pyarrow import csv, parquet

import sfumato as sf

pytestmark = pytest.mark.soak
_STAYS = {"los_days": "los", "charge_usd": "charge"}


@pytest.fixture(autouse=True)
def own_trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test trusts is no business of this machine's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))


def stays(name: str, columns: dict[str, str], rows: int = 600, seed: int = 1) -> list[str]:
    """Simulated stays in a file, each column under the name that the page uses; the names."""
    table = sf.samples.discharges(rows, seed=seed).to_arrow().select(list(columns))
    csv.write_csv(table.rename_columns(list(columns.values())), name)
    return list(columns.values())


def levels(columns: list[str], of: str, folder: str = "levels") -> None:
    """A hierarchy for each of these columns: the value, its first sign, everything."""
    Path(folder).mkdir()
    table = csv.read_csv(of)
    for column in columns:
        values = sorted({str(v) for v in table[column].to_pylist() if v not in (None, "")})
        Path(folder, f"{column}.csv").write_text("".join(f"{v};{v[0]}-;*\n" for v in values), "utf-8")


def gone(*names: str) -> None:
    """What an earlier command of the page made under the same name."""
    for name in names:
        if Path(name).is_dir():
            shutil.rmtree(name)
        else:
            Path(name).unlink(missing_ok=True)


def ready(sfumato: Sfumato, *commands: str) -> None:
    """What a reader of the page has done before."""
    for command in commands:
        answer = sfumato(*command.split())
        assert answer.code == 0, f"{command}\n{answer.all[-1500:]}"


VISITS = {
    "id": "id", "age": "age", "sex": "sex", "cat": "age_group", "region": "area", "county": "county",
    "mdc": "diagnosis", "charge_usd": "cost", "hospital": "ward", "charge": "charge", "typ": "outcome",
}  # fmt: skip


def test_every_command_of_the_list(sfumato: Sfumato, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = "command-line"
    with Play("command-line").inside(sfumato) as play:
        stays("visits.csv", VISITS)
        levels(["age", "sex", "area", "county", "age_group", "ward", "outcome", "charge"], "visits.csv")
        draft = {"sfumato run": 1, "anonymize visits.csv --k 5 --out": 1}
        play.rest(page, draft, until="sfumato anonymize")
        gone("release")
        play.rest(page, draft, until="sfumato pseudonymize")
        gone("release")
        play.rest(page, until="sfumato synthesize")
        ready(
            sfumato, "trust key hospital.key", "ledger new study.ledger --data-set ward --epsilon 3",
            "schema declare visits.toml --by R.Weiss --reason F12 --key hospital.key --column "
            + " --column ".join(c for c in VISITS.values() if c != "id"),
        )  # fmt: skip
        play.next(page, "sfumato synthesize")
        gone("synthetic")
        play.rest(page, until="sfumato assess")
        play.next(page, "sfumato assess", 1)  # pseudonyms leave everybody findable: the limit is missed
        play.rest(page, until="sfumato reconstruct")
        stays("people.csv", {"hospital": "hospital", "age_years": "age", "los_days": "days"})
        people = sf.samples.discharges(600, seed=1).to_arrow().select(["hospital", "charge_usd"])
        means = people.group_by("hospital").aggregate([("charge_usd", "mean")])
        csv.write_csv(means.rename_columns(["hospital", "charge"]), "averages.csv")
        Path("published.csv").write_text(
            "county,age,count\nA,young,30\nA,old,x\nA,_T,32\nB,young,9\nB,old,8\nB,_T,17\n"
            "_T,young,39\n_T,old,10\n_T,_T,49\n", "utf-8",
        )  # fmt: skip
        play.rest(page, {"assess-aggregates": 1, "assess-tables": 1}, until="sfumato tree")
        ready(
            sfumato, "sample diabetes 1500 --out checkups.csv --schema checkups.toml",
            "sample diabetes 600 --seed 9 --out holdout.csv",
            "fit checkups.csv --schema checkups.toml --target diabetes --sign hospital.key --out other.sfm "
            "--epsilon 2",
        )  # fmt: skip
        gone("hospital.key", "hospital.pub", "study.ledger")
        monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "another"))  # a machine that knows no such ledger
        play.rest(page, until="sfumato describe claims")
        lines = ["a,b,c,d,e,f,g", *("1,2,3,4,5,6,7" for _ in range(950))]
        lines[11], lines[903] = "1,2,3", "1,2,3,4,5,6,7,8"
        Path("claims.csv").write_text("\n".join(lines) + "\n", "utf-8")
        refused = play.next(page, "sfumato describe claims.csv", 2)
        assert (
            "DataError: claims.csv: 2 rows have not 7 cells like the first row (line 12, 904)."
            in refused.said
        )


def test_pages_about_one_release(sfumato: Sfumato) -> None:
    with Play("anonymize", "assess", "next-quarter", "plan", "release").inside(sfumato) as play:
        columns = stays("discharges.csv", {"age": "age", "sex": "sex", "zip": "zip", "mdc": "mdc"})
        play.rest("anonymize", {"anonymize": 1}, until="sfumato anonymize discharges.parquet")
        gone("release")
        ready(sfumato, "schema update discharges.toml discharges.csv",
              "convert discharges.csv discharges.parquet --schema discharges.toml")  # fmt: skip
        levels(columns[:3], "discharges.csv", "hierarchies")
        play.rest("anonymize")
        play.next("release", "cd public", cd="cd release &&cd")
        stays("discharges.csv", {"age": "age", "sex": "sex", "zip": "zip", "mdc": "diagnosis"})
        stays("release.csv", {"age": "age", "sex": "sex", "zip": "zip", "mdc": "diagnosis"}, seed=2)
        stays("holdout.csv", {"age": "age", "sex": "sex", "zip": "zip", "mdc": "diagnosis"}, seed=3)
        play.next("assess", "sfumato assess", 1)  # so few people cannot show that the risk is below 0.05
        gone("release")
        columns = stays("visits.csv", {"age": "age", "sex": "sex", "mdc": "mdc"}, 2_400)
        play.rest("plan", {"sfumato run": 1}, until="sfumato sign")
        play.rest("plan", {"sfumato run": 1})
        Path("release").rename("release-q1")
        stays("2026q2.csv", {"age": "age", "sex": "sex", "mdc": "mdc"}, 2_400, seed=5)
        play.next("next-quarter", "sfumato run", 1)


def test_pages_about_one_method(sfumato: Sfumato) -> None:
    with Play("alpha-tree", "dpat", "greedy").inside(sfumato) as play:
        play.rest("alpha-tree")
        ready(sfumato, "sample icu 900 --out icu.csv --schema icu.toml")
        play.rest("dpat")
        columns = stays("visits.csv", {"age": "age", "sex": "sex", "zip": "zip", "charge_usd": "cost"}, 300)
        levels(columns[:3], "visits.csv")
        play.rest("greedy")


def test_the_map(sfumato: Sfumato) -> None:
    with Play("frontier").inside(sfumato) as play:
        stays("discharges.csv", {"age": "age", "sex": "sex", "race": "race", "mdc": "mdc"})
        play.rest("frontier")
        assert "<svg" in Path("frontier.html").read_text("utf-8")


def test_pages_about_tables(sfumato: Sfumato) -> None:
    with Play("tables", "tables-from-others").inside(sfumato) as play:
        columns = {"county": "county", "region": "area", "age": "age", "sex": "sex"}
        stays("stays.csv", columns)
        play.rest("tables", {"verify": 3}, until="sfumato tabulate stays.csv -s")  # nobody has signed it
        gone("tables")
        ready(
            sfumato, "trust key weiss.key", "schema update stays.toml stays.csv",
            "schema declare stays.toml --by R.Weiss --reason F12 --key weiss.key -c county -c age",
            "ledger new hospital.ledger --data-set stays --epsilon 2",
        )  # fmt: skip
        play.next("tables", "sfumato tabulate")
        Path("published.csv").write_text(
            "area,county,age,count\nN,A,young,30\nN,A,old,x\nN,B,young,9\nN,B,old,8\nN,_T,young,39\nN,_T,old,10\n"
            "N,A,_T,32\nN,B,_T,17\nN,_T,_T,49\n"
            "_T,_T,young,39\n_T,_T,old,10\n_T,_T,_T,49\n", "utf-8",
        )  # fmt: skip
        year = sf.samples.discharges(600, seed=2).to_arrow().select(["region", "cat"])
        year = year.append_column("quarter", pa.array([f"q{1 + i % 2}" for i in range(len(year))]))
        csv.write_csv(year, "year.csv")
        csv.write_csv(year.filter(pc.equal(year["quarter"], "q1")), "q1.csv")
        ready(sfumato, "tabulate q1.csv --by region,cat --out q1")
        play.rest("tables", {"assess-tables": 1})
        play.rest("tables-from-others", {"assess-tables": 1})


def test_adult_as_arx_has_it(sfumato: Sfumato, data_dir: Path) -> None:
    with Play("arx").inside(sfumato) as play:
        csv.write_csv(parquet.read_table(data_dir / "adult" / "adult_arx_30162.parquet"), "adult.csv")
        shutil.copytree(data_dir / "adult" / "hierarchies_arx", "hierarchies")
        play.next("arx", "sfumato hierarchy check")
        ended = play.next("arx", "sfumato anonymize")
        assert "loss 0.2928, the optimum" in " ".join(ended.said.split())  # as the page shows
