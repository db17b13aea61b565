"""Files that are not read, and the command that makes one of them that is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.errors import DataError, listed

_SAFE = re.compile(r"\w[\w.-]*")
# {0}: the file. {1}: its name without the suffix.
_COMMANDS = {
    (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"): "tar -xf {0}, then name the file",
    (".bz2",): "bunzip2 -k {0}",
    (".xz", ".lzma"): "unxz -k {0}",
    (".zst",): "zstd -d {0}",
    (".gz",): "gunzip -k {0}",
    (".7z", ".rar"): "7z x {0}, then name the file",
    (".json", ".jsonl", ".ndjson"): "duckdb -c \"COPY (FROM read_json('{0}')) TO '{1}.parquet'\"",
    (".avro",): "duckdb -c \"INSTALL avro; LOAD avro; COPY (FROM read_avro('{0}')) TO '{1}.parquet'\"",
    (".orc",): "python -c \"import pyarrow.orc as o, pyarrow.parquet as p; "
    "p.write_table(o.read_table('{0}'), '{1}.parquet')\"",
    (".rds",): "Rscript -e 'write.csv(readRDS(\"{0}\"), \"{1}.csv\", row.names = FALSE)'",
    (".rdata", ".rda"): "Rscript -e 'write.csv(get(load(\"{0}\")), \"{1}.csv\", row.names = FALSE)'",
    (".mdb", ".accdb"): "mdb-export {0} TABLE > {1}.csv",
    (".dbf", ".shp", ".gpkg"): "ogr2ogr -f CSV {1}.csv {0}",
    (".h5", ".hdf", ".hdf5", ".pkl", ".pickle", ".mat"): "write it as Parquet with the program that made it; "
    "files that can hold programs are not opened",
    (".sqlite", ".sqlite3", ".db"): "name it as a database: sqlite:///{0}",
    (".duckdb",): "name it as a database: duckdb:///{0}",
    (".sql", ".dump"): "load it into a database, then name that",
    (".sas7bcat",): "name the .sas7bdat file it belongs to",
    (".numbers", ".gsheet", ".wk1", ".123"): "export it as .xlsx in the program that made it",
    (".xml", ".html", ".htm", ".pdf", ".doc", ".docx", ".rtf"): "save its table as .csv or .xlsx",
    (".fwf", ".dat", ".asc", ".prn"): "if it is a text table, mv {0} {1}.csv; columns of fixed width "
    "are read by R's read.fwf or pandas.read_fwf",
}  # fmt: skip


def unread(names: Sequence[str], known: Sequence[str]) -> DataError:
    """The error for files of an unknown kind."""
    hint = conversion(names[0])
    return DataError(
        f"unknown kind of file: {listed(list(names))}.", hint=hint or f"known suffixes: {' '.join(known)}"
    )


def conversion(name: str) -> str:
    """What to do with a file of this name, or nothing if that is not known."""
    lower = name.lower()
    fitting = [
        (suffix, command)
        for suffixes, command in _COMMANDS.items()
        for suffix in suffixes
        if lower.endswith(suffix)
    ]
    if not fitting:
        return ""
    suffix, command = max(fitting, key=lambda pair: len(pair[0]))
    if not _SAFE.fullmatch(name):  # nobody should paste a stranger's signs into a shell
        return command.format("FILE", "FILE")
    return command.format(name, name[: -len(suffix)])
