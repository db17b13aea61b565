"""Two files to judge, and how quickly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.seeds import Key

KEY = Key.from_seed(5)


QUICK = {"effort": "quick", "quasi_identifiers": ["age", "sex"], "sensitive": ["dx"], "key": KEY}


def frame(rows: int = 300, seed: int = 1) -> pd.DataFrame:
    draw = Key.from_seed(seed).generator("frame")
    return pd.DataFrame(
        {
            "age": draw.integers(20, 80, rows),
            "sex": np.array(["f", "m"])[draw.integers(0, 2, rows)],
            "zip": [f"0{z}" for z in draw.integers(1300, 1310, rows)],
            "dx": np.array(["none", "flu", "gout"])[draw.integers(0, 3, rows)],
        }
    )
