"""The colours of figures and pages: told apart by colour-blind readers, readable in light and dark.

Specifications use the light colours. On a page, style rules that match exactly these colours swap them
for the reader's theme, so one drawing serves light, dark and paper.
"""

from __future__ import annotations

# name: (light, dark). Blue against vermilion is the pair of Okabe and Ito's palette that holds for every
# kind of colour vision; the dark ones are lighter shades of the same hues.
COLOURS = {
    "ink": ("#1f2430", "#e8e6e1"),
    "muted": ("#5b6270", "#a9adb8"),
    "line": ("#dcd9d2", "#3a3f4b"),
    "paper": ("#ffffff", "#1d2129"),
    "original": ("#0068a8", "#5cb3ec"),
    "released": ("#c8500a", "#f59a4a"),
    "control": ("#00785a", "#3cc79d"),
    "violet": ("#8a4f9e", "#d3a0e4"),
    "sand": ("#8a6a00", "#e3c14f"),
    "rose": ("#b3446c", "#f08db0"),
    "slate": ("#46536b", "#a8b9d6"),
    "sky": ("#0f7f93", "#62cfe0"),
}
INK, MUTED, LINE, PAPER, ORIGINAL, RELEASED, CONTROL = (
    COLOURS[name][0] for name in ("ink", "muted", "line", "paper", "original", "released", "control")
)
# For methods on the map: a colour and a shape each, so that neither is needed alone.
CATEGORIES = tuple(
    COLOURS[name][0] for name in ("original", "released", "control", "violet", "sand", "rose", "sky", "slate")
)
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)


def variables(dark: bool) -> str:
    """The colours as CSS variables."""
    return "".join(f"--{name}:{pair[dark]};" for name, pair in COLOURS.items())


def swaps() -> str:
    """CSS that gives every drawn colour the reader's shade."""
    return "".join(
        f'.panel [{paint}="{light}"]{{{paint}:var(--{name})}}'
        for name, (light, _) in COLOURS.items()
        for paint in ("fill", "stroke")
    )
