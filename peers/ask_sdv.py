"""SDV's GaussianCopula on a Parquet file: the seconds that fit and sample take, and the rows.

Question: {"data": file.parquet, "numbers": [columns that are numbers; all others are categories], "rows": how
many to draw, "out": file.parquet}. Reading and writing the files is not counted.
"""

import json
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import pandas as pd  # noqa: E402
from sdv.metadata import Metadata  # noqa: E402
from sdv.single_table import GaussianCopulaSynthesizer  # noqa: E402

question = json.load(sys.stdin)
data = pd.read_parquet(question["data"])
columns = {
    name: {"sdtype": "numerical" if name in question["numbers"] else "categorical"} for name in data.columns
}
metadata = Metadata.load_from_dict({"tables": {"t": {"columns": columns}}})
clocks = (time.perf_counter, time.process_time)
start = [clock() for clock in clocks]
model = GaussianCopulaSynthesizer(metadata)
model.fit({"t": data})
fitted = [clock() for clock in clocks]
rows = model.sample(question["rows"])
end = [clock() for clock in clocks]
rows = rows["t"] if isinstance(rows, dict) else rows
rows.to_parquet(question["out"])
answer = {
    "fit": fitted[1] - start[1], "sample": end[1] - fitted[1], "cpu_seconds": end[1] - start[1],
    "seconds": end[0] - start[0],
}  # fmt: skip
json.dump(answer, sys.stdout)
