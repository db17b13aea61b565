"""Draws docs/before-after.svg: the same simulated people before and after, at k = 5.

python docs/draw_before_after.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import sfumato as sf

COLUMNS = ["age_years", "sex", "zip", "dx"]
NAMES = ["age", "sex", "zip", "diagnosis"]
WIDTHS = [62, 70, 58, 84]
SHOWN, ROW, LEFT, GAP = 7, 26, 20, 96


def people() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], float, int]:
    """Rows before and after in one order, how many were unique, and the smallest class of the release."""
    rows = sf.samples.discharges(3_000, seed=8).select(COLUMNS).to_arrow().drop_null()
    table = sf.scan(rows)
    known = COLUMNS[:3]
    release = sf.anonymize(
        table, sf.KAnonymity(5), quasi_identifiers=known, method=sf.LocalRecoding(effort="fast"), seed=1,
        hierarchies={
            "age_years": sf.hierarchy.Intervals((5, 10, 20)),
            "sex": sf.Hierarchy.of_rows([["female", "*"], ["male", "*"]]),
            "zip": sf.hierarchy.Prefixes((2, 1)),
        },
    )  # fmt: skip
    sizes = table.counts(*known).n
    after = release.data.to_arrow()
    # The order of the release is drawn anew; for the picture people are found again by what fits them.
    before = sorted(zip(*(map(str, rows[c].to_pylist()) for c in COLUMNS), strict=True))
    released = sorted(zip(*(map(str, after[c].to_pylist()) for c in COLUMNS), strict=True))
    chosen = [before[i] for i in range(40, 3_000, 370)][:SHOWN]
    answers = []
    for age, sex, code, dx in chosen:
        fits = (r for r in released if r[3] == dx and r[1] in (sex, "*"))
        answers.append(next(r for r in fits if _covers(r[0], age) and _prefix(r[2], code)))
    return chosen, answers, float((sizes == 1).sum() / sizes.sum()), int(release.data.counts(*known).n.min())


def _covers(band: str, age: str) -> bool:
    if band in ("*", age):
        return True
    low, _, high = band.partition("-")
    return bool(high) and int(low) <= int(age) <= int(high)


def _prefix(masked: str, code: str) -> bool:
    return masked == "*" or code.startswith(masked.rstrip("*"))


def panel(x: int, title: str, note: str, rows: list[tuple[str, ...]], colour: str) -> list[str]:
    """One table with its title above and a note below."""
    foot = 72 + ROW * (len(rows) + 1)
    out = [
        f'<text x="{x}" y="30" class="title">{escape(title)}</text>',
        f'<text x="{x}" y="{foot}" class="note">{escape(note)}</text>',
    ]
    for i, row in enumerate([tuple(NAMES), *rows]):
        y = 44 + ROW * i
        fill = colour if i == 0 else ("#ffffff" if i % 2 else "#f4f4f0")
        out.append(f'<rect x="{x}" y="{y}" width="{sum(WIDTHS)}" height="{ROW}" fill="{fill}"/>')
        place = x
        for cell, wide in zip(row, WIDTHS, strict=True):
            kind = "head" if i == 0 else "cell"
            out.append(f'<text x="{place + 8}" y="{y + 17}" class="{kind}">{escape(cell)}</text>')
            place += wide
    return out


_STYLE = (
    "text{font:13px sans-serif;fill:#1f2430}.title{font-weight:bold;font-size:15px}.note{fill:#5a6070}"
    ".head{fill:#fff;font-weight:bold}.cell{font-family:monospace}.arrow{font-size:34px;fill:#5a6070}"
)
_WORDS = "Seven simulated people before and after: ages become bands where they must"


def main() -> None:
    """Draw it."""
    before, after, unique, k = people()
    wide = sum(WIDTHS)
    width, height = 2 * LEFT + 2 * wide + GAP, 44 + ROW * (SHOWN + 1) + 48
    alone, hidden = (
        f"{unique:.0%} of the rows stand alone by these three",
        f"every row is one of at least {k}",
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{_WORDS}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fbfbf8"/>',
        *panel(LEFT, "before", alone, before, "#7a1432"),
        f'<text x="{width / 2}" y="{height / 2}" text-anchor="middle" class="arrow">→</text>',
        *panel(LEFT + wide + GAP, "after, k = 5", hidden, after, "#0b5a8a"),
        "</svg>",
    ]
    (Path(__file__).parent / "before-after.svg").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
