"""Fixed public limits of scikit-learn's breast cancer data: round numbers for what is measured.

The ten measurements of a cell nucleus have one pair of limits each for their mean and their worst value over
a sample, and one for the standard error: round numbers around the ranges that the data set's published
description states.
"""

from __future__ import annotations

VALUES = {
    "radius": (0, 40), "texture": (0, 50), "perimeter": (0, 260), "area": (0, 4500), "smoothness": (0, 0.25),
    "compactness": (0, 1.2), "concavity": (0, 1.3), "concave points": (0, 0.3), "symmetry": (0, 0.7),
    "fractal dimension": (0.04, 0.22),
}  # fmt: skip
ERRORS = {
    "radius": (0, 3), "texture": (0, 5), "perimeter": (0, 22), "area": (0, 550), "smoothness": (0, 0.035),
    "compactness": (0, 0.15), "concavity": (0, 0.4), "concave points": (0, 0.06), "symmetry": (0, 0.08),
    "fractal dimension": (0, 0.03),
}  # fmt: skip
LIMITS = (*VALUES.values(), *ERRORS.values(), *VALUES.values())
