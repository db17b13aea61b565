"""Files as people have them are read right, or refused with a hint; none is misread without a word."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from nasty_files import NASTY, Nasty, table

from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.io import scan


def test_there_are_forty() -> None:
    assert len(NASTY) >= 40 and len({n.what for n in NASTY}) == len(NASTY)


@pytest.mark.parametrize("nasty", NASTY, ids=lambda n: n.what)
def test_read_right_or_refused(nasty: Nasty, tmp_path: Path) -> None:
    if nasty.needs:
        pytest.importorskip(nasty.needs)
    path = nasty.write(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if nasty.refused:
            with pytest.raises(SfumatoError) as error:
                scan(path, keep_text=True, **nasty.options).to_arrow()
            assert nasty.refused in error.value.message and nasty.hint in error.value.hint
            return
        found = scan(path, keep_text=True, **nasty.options)
        assert found.to_arrow().to_pydict() == nasty.gives
    said = [str(w.message) for w in caught if issubclass(w.category, SfumatoWarning)]
    assert len(said) == len(nasty.says), said
    assert all(any(part in word for word in said) for part in nasty.says), said


def test_the_page_lists_them() -> None:
    page = Path(__file__).parents[2] / "docs" / "files.md"
    assert table() in page.read_text(encoding="utf-8"), "write nasty.table() into docs/files.md"


_COUNT = """
import resource, sys
from sfumato.io import scan
rows = sum(b.num_rows for b in scan(sys.argv[1]).source.batches(["id", "sex"]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.soak
def test_a_gigabyte(tmp_path: Path) -> None:
    """Titles, units and a separator at each line's end change nothing about how much memory it takes."""
    path, rows = tmp_path / "large.csv", 0
    block = "".join(f"{k},{k % 90},{'fm'[k % 2]},{k * 7 % 99991:05d},{'x' * 30},\n" for k in range(100_000))
    with path.open("w") as out:
        out.write("Visits of 2020\n\nid,age,sex,zip,note,\n,years,,,,\n")
        while out.tell() < 1 << 30:
            out.write(block)
            rows += 100_000
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _COUNT, str(path)], capture_output=True, text=True, check=True
    )
    counted, peak = map(int, ran.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert counted == rows and peak * unit < 600 << 20
