"""SDV's HMA on linked Parquet files: the processor seconds of fit and sample, and the rows.

Question: {"tables": {table: file}, "metadata": as SDV wants it, "out": {table: file}}. As many persons are
drawn as the data have. Reading and writing the files is not counted.
"""

import json
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import pandas as pd  # noqa: E402
from sdv.metadata import Metadata  # noqa: E402
from sdv.multi_table import HMASynthesizer  # noqa: E402

question = json.load(sys.stdin)
tables = {name: pd.read_parquet(path) for name, path in question["tables"].items()}
for name, meant in question["metadata"]["tables"].items():
    for column, said in meant["columns"].items():
        if said["sdtype"] == "datetime":
            tables[name][column] = pd.to_datetime(tables[name][column])
start = time.process_time()
model = HMASynthesizer(Metadata.load_from_dict(question["metadata"]), verbose=False)
model.fit(tables)
fitted = time.process_time()
rows = model.sample(scale=1.0)
end = time.process_time()
for name, path in question["out"].items():
    rows[name].to_parquet(path)
json.dump({"fit": fitted - start, "sample": end - fitted, "cpu_seconds": end - start}, sys.stdout)
