"""What is told of a confidential model to who asks: nothing that was read off the data."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from declared import PUBLIC

from sfumato.features.inputs import FeatureError
from sfumato.prediction.confidential import load_confidential
from sfumato.prediction.dpat import DPaT
from sfumato.schema import Column, Kind, Schema
from sfumato.service.openapi import row_schema
from sfumato.service.registry import Served, middle
from sfumato.table import Table


def test_levels_read_off_the_data_are_not_told(tmp_path: Path) -> None:
    cells = pa.table({"town": ["Aa", "Bb", "zebra-7319"] * 40, "sick": [False, True, True] * 40})
    sick = Column("sick", Kind.FLAG, type="boolean", levels=(False, True))
    for confirmed in (False, True):
        levels = ("Aa", "Bb", "zebra-7319") if confirmed else None
        town = Column(
            "town", Kind.NOMINAL, levels=levels, missing=False, provenance=PUBLIC if confirmed else None
        )
        fitted = DPaT(epsilon_per_call=1.0).fit(Table.from_arrow(cells, Schema((town, sick))), "sick")
        model = load_confidential(fitted.save(tmp_path / f"{confirmed}.dpat"))
        said = [Served.of(model).document(), row_schema(model.features), middle(model.features)]
        assert ("zebra" in json.dumps(said)) == ("Aa" in json.dumps(said)) == confirmed
        assert model.checked({"town": "Bb"})[0] == {"town": "Bb"}
        with pytest.raises(FeatureError):
            model.checked({"town": "Cc"})
