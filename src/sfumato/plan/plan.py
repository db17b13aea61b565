"""A plan: one TOML file is one run.

It is checked as a whole when it is read: every fault is listed at once, with its line. Nothing of the data is
looked at for that.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sfumato.errors import PlanError
from sfumato.plan.checks import faults_of
from sfumato.plan.document import PlanDocument
from sfumato.plan.formats import earlier_format
from sfumato.plan.lines import line_numbers
from sfumato.plan.spec import PLAN, VERSION
from sfumato.plan.step import Step, step

if TYPE_CHECKING:
    from sfumato.plan.outcome import Run

_LARGEST = 4_000_000  # characters


class Plan(PlanDocument):
    """A plan that has been read and checked, and can be run.

    >>> people = sf.samples.members(60).select(["sex", "region"])
    >>> data = sf.write(people, "people.csv")
    >>> with open("people.toml", "w") as file:
    ...     _ = file.write(people.schema.to_toml())
    >>> steps = [sf.step(sf.ClusterResample(), k=5)]
    >>> plan = sf.Plan.of(data, steps, schema="people.toml", assess={"skip": True})
    >>> plan.run("out").load().guarantee.claims[0].title
    're-identification at most 1/5 for every record'
    """

    # -- in ------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a plan, or list everything that is wrong with it."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise PlanError(f"no plan {path.name}.", hint="sfumato init DATA writes one") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise PlanError(f"{path.name} cannot be read: {reason}.", hint="give a TOML file") from None
        return cls.from_toml(text, folder=path.resolve().parent, name=path.name)

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path = ".", name: str = "plan") -> Plan:
        """A plan from its text."""
        plan = cls(
            _parsed(text, name), Path(folder).resolve(), name, text, line_numbers(text.replace("\r\n", "\n"))
        )
        plan.refuse(earlier_format(plan.document))
        plan.refuse(PLAN.faults(plan.document, ()))
        plan.refuse(faults_of(plan))
        _ = plan._files  # as they are now: what is changed later is not what was checked
        return plan

    @classmethod
    def of(
        cls,
        data: str | Path,
        steps: Sequence[Any],
        *,
        schema: str | Path,
        folder: str | Path = ".",
        **tables: object,
    ) -> Plan:
        """A plan of methods as they are in Python, checked like one that was written by hand.

        steps: methods, or steps (`sf.step(sf.LocalRecoding(), k=5)`); its `text` is the file to keep.
        tables: the other tables of a plan, such as columns={"age": {"hierarchy": "ages"}}.
        """
        entries: dict[str, list[dict[str, Any]]] = {}
        for one in (s if isinstance(s, Step) else step(s) for s in steps):
            one.require_plain()
            labels = {n: v for n, v in (("name", one.name), ("of", one.of)) if v}
            entries.setdefault(one.at[0], []).append({"method": one.method, **labels, **one.settings})
        document = {"sfumato_plan": VERSION, "input": {"data": str(data), "schema": str(schema)}, **tables}
        return cls.from_toml(tomli_w.dumps({**document, **entries}), folder=folder)

    # -- doing ---------------------------------------------------------------------------------------

    def run(self, out: str | Path, **options: Any) -> Run:
        """Do what the plan says, and write the release; see `sfumato.plan.run.run`."""
        from sfumato.plan.run import run

        return run(self, Path(out), **options)


def _parsed(text: str, name: str) -> dict[str, Any]:
    if len(text) > _LARGEST:
        raise PlanError(f"{name} is too long for a plan.", hint="levels belong in the schema or in files")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        where = f" at line {line}, column {place[2]}" if place else " at its end"
        raise PlanError(
            f"{name} is not valid TOML{where}.",
            hint="correct that line",
            faults=[(line, "is not valid TOML")],
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        raise PlanError(f"{name} is not a plan.", hint="see docs/plan.md") from None
