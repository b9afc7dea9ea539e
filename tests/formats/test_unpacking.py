"""Files that unpack to far more than they take: refused while they are read, soon, and in little memory."""

import gzip
import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.commandline import call, one_line, rspca_command

import rspca
from rspca.base import files
from rspca.base.memory import GrowingRoom, NotEnoughMemory
from rspca.formats import archives, delimited

MEGABYTE = 1 << 20
ZEROS = b"0" * MEGABYTE
BOMBS = {
    "line.csv.gz": (b"", ZEROS),
    "cells.csv.gz": (b"", b"0," * (MEGABYTE // 2)),
    "rows.tsv.gz": (b"a\tb\n", b"0\t0\n" * (MEGABYTE // 4)),
    "comments.mtx.gz": (b"%%MatrixMarket matrix coordinate real general\n", b"%%%%%%%\n" * (MEGABYTE // 8)),
    "documents.txt.gz": (b"", b"word " * (MEGABYTE // 5)),
}


def write_bomb(path, head, block, megabytes=24):
    with gzip.open(path, "wb", 6) as file:
        file.write(head)
        for _ in range(megabytes):
            file.write(block)
    assert path.stat().st_size < megabytes * MEGABYTE / 400
    return path


# issue 14, item 13
@pytest.mark.parametrize("name", BOMBS)
def test_a_gzipped_file_that_unpacks_to_far_too_much_is_refused(tmp_path, name):
    path = write_bomb(tmp_path / name, *BOMBS[name])
    rspca.read  # noqa: B018  # what it imports is not measured
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"{name} unpacks to more than 250 times its size.*gunzip"):
            rspca.read(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 60 * MEGABYTE
    result = call("fit", name, "-k", "2", "-o", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert name in one_line(result.stderr)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("reader", ["read_smart", "read_series_matrix", "read_laser", "read_plink"])
def test_readers_of_other_formats_refuse_it_too(tmp_path, reader):
    bomb = write_bomb(tmp_path / "x.gz", b".I 1\n.W\n" if reader == "read_smart" else b"", ZEROS)
    (tmp_path / "x.fam").write_text("F I 0 0 0 -9\n")
    (tmp_path / "x.site").write_text("CHR POS ID REF ALT\n1 1 rs1 A C\n")
    more = {"read_laser": [tmp_path / "x.site"]}.get(reader, [])
    options = {"bim": bomb, "fam": tmp_path / "x.fam"} if reader == "read_plink" else {}
    with pytest.raises(ValueError, match=r"x\.gz unpacks to more than 250 times its size"):
        getattr(rspca.formats, reader)(bomb, *more, **options)


def test_a_folder_of_documents_with_one_that_unpacks_to_far_too_much_is_refused(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("some words")
    write_bomb(tmp_path / "docs" / "b.txt.gz", b"", b"word " * (MEGABYTE // 5))
    with pytest.raises(ValueError, match=r"b\.txt\.gz unpacks to more than 250 times its size"):
        rspca.read(tmp_path / "docs")


def test_what_becomes_too_much_later_is_refused_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "RATIO_FROM", MEGABYTE)
    noise = np.random.default_rng(0).integers(0, 256, 10**4, dtype=np.uint8).tobytes()
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(noise) + gzip.compress(bytes(8 * MEGABYTE)))  # beyond what is looked at first
    read = []
    with pytest.raises(ValueError, match="unpacks to more than 250 times"):
        read.extend(map(len, files.blocks(path)))
    assert 0 < sum(read) < 5 * MEGABYTE


def test_a_limit_in_bytes_holds_whatever_the_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 3 * MEGABYTE)
    noise = np.random.default_rng(0).integers(0, 256, 4 * MEGABYTE, dtype=np.uint8).tobytes()
    (tmp_path / "x.gz").write_bytes(gzip.compress(noise))
    with pytest.raises(ValueError, match=r"unpacks to more than 3\.15 MB"):
        files.read_bytes(tmp_path / "x.gz")


def test_what_the_memory_has_no_room_for_is_refused_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 10**6)
    monkeypatch.setattr(files, "_MEMORY_FROM", 70 * MEGABYTE)
    noise = np.random.default_rng(0).integers(0, 256, MEGABYTE, dtype=np.uint8).tobytes()
    with gzip.open(tmp_path / "x.gz", "wb", 1) as file:
        for _ in range(80):
            file.write(noise)
    with pytest.raises(NotEnoughMemory, match=r"x\.gz, unpacked, needs"):
        files.read_bytes(tmp_path / "x.gz")


def test_a_table_that_outgrows_the_memory_is_refused_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("rspca.base.memory.LITTLE", 1000)
    monkeypatch.setattr("rspca.base.memory.GROWTH_FROM", 1000)
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 3000)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 2000)
    with pytest.raises(NotEnoughMemory, match=r"the table in .*t\.csv, which has more than"):
        rspca.read(tmp_path / "t.csv")


def test_room_is_looked_for_each_time_the_size_has_doubled(monkeypatch):
    asked = []
    monkeypatch.setattr("rspca.base.memory.check_room", lambda size, what, remedy: asked.append(size))
    room = GrowingRoom("x", "y")
    for size in range(0, 10**9, 10**6):
        room.check(size)
    assert len(asked) == 5


# issue 14, item 13
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_refused_before_it_is_read_to_its_end(tmp_path, packed, monkeypatch):
    monkeypatch.setattr(files, "MOST_LINE", 10**5)
    line = b"a,b\n1,2\n" + b"0.125," * 10**6 + b"1\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(line) if packed else line)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"t\.csv.*, line 3 is longer than 100 kB"):
            rspca.read(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 5.5 * MEGABYTE


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_line_of_600_megabytes_takes_little_memory(tmp_path):
    write_bomb(tmp_path / "t.csv.gz", *BOMBS["line.csv.gz"], megabytes=600)
    program = (  # the peak of this process alone: getrusage counts the one that started it
        "import re, sys; from pathlib import Path; from rspca import read\n"
        "try: read(sys.argv[1])\n"
        "except ValueError: print(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    result = rspca_command(str(tmp_path / "t.csv.gz"), program=program)
    assert float(result.stdout) < 400_000


def test_wide_tables_are_read_and_few_of_their_rows_looked_at_twice(tmp_path, monkeypatch):
    X = np.arange(3 * 5000.0).reshape(3, 5000)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",")
    monkeypatch.setattr(delimited, "LOOK_AHEAD_CELLS", 1000)
    assert len(delimited._beginning(delimited._rows(tmp_path / "t.csv", ",", "utf-8"))) == 2
    np.testing.assert_array_equal(rspca.read(tmp_path / "t.csv").operator.X, X)


# --- archives of arrays and frames ------------------------------------------------------------------------------------


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def test_an_array_whose_header_announces_gigabytes_is_refused(tmp_path):
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 28)
    archive(tmp_path / "t.npz", **{"X.npy": head + b" " * (1 << 24)})
    (tmp_path / "t.npy").write_bytes(head + b" " * 1000)
    tracemalloc.start()
    try:
        for name in ("t.npz", "t.npy"):
            with pytest.raises(ValueError, match=rf"{name} is not"):
                rspca.read(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 2 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_everything_in_an_archive_is_counted_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 10**6)
    matrix = io.BytesIO()
    np.save(matrix, np.eye(3))
    archive(tmp_path / "t.npz", **{"X.npy": matrix.getvalue(), "model.json": b" " * (1 << 26)})
    with pytest.raises(NotEnoughMemory, match=r"t\.npz, unpacked, needs 67"):
        archives.npz_shapes(tmp_path / "t.npz")


def test_a_model_of_more_components_than_the_memory_holds_is_refused(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((20, 6))
    rspca.SparsePCA(1, k=2, random_state=0).fit(X).save(tmp_path / "model.npz")
    monkeypatch.setattr("rspca.base.memory.LITTLE", 0)
    monkeypatch.setattr("rspca.model_files.check_room", _no_room)
    with pytest.raises(NotEnoughMemory, match=r"model\.npz, 1 components of 6 features, unpacked,"):
        rspca.load(tmp_path / "model.npz")


def _no_room(size, what, remedy):
    raise NotEnoughMemory(f"{what} {size}")


def test_a_frame_of_more_rows_than_the_memory_holds_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="to read .parquet needs pyarrow: pip install 'rspca[parquet]'")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}), tmp_path / "t.parquet")
    monkeypatch.setattr("rspca.base.memory.LITTLE", 10**6)
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 10**7)
    with pytest.raises(NotEnoughMemory, match=r"t\.parquet, unpacked to 1000000 rows and 2 columns, needs 16 MB"):
        rspca.read(tmp_path / "t.parquet")


def test_one_long_text_in_all_rows_of_a_frame_is_not_unpacked(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="to read .parquet needs pyarrow: pip install 'rspca[parquet]'")
    from pyarrow import parquet

    rows = 2000
    texts = pyarrow.array(["x" * 10**5]).dictionary_encode().dictionary.take(pyarrow.array([0] * rows))
    parquet.write_table(pyarrow.table({"a": np.arange(rows * 1.0), "note": texts}), tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < MEGABYTE
    monkeypatch.setattr("rspca.base.memory.free_memory", lambda: 10**8)
    with pytest.raises(NotEnoughMemory, match=r"column note of .*t\.parquet needs 800 MB"):
        rspca.read(tmp_path / "t.parquet")


# issue 14, item 17
@pytest.mark.parametrize("kind", ["list", "record", "map"])
def test_nested_columns_of_a_frame_are_one_line_with_its_name(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow", reason="to read .parquet needs pyarrow: pip install 'rspca[parquet]'")
    from pyarrow import parquet

    cells = {
        "list": [[1.0], [1.0, 2.0], []],
        "record": [{"x": 1, "y": [2]}] * 3,
        "map": pyarrow.array([[("k", 1)], [], [("l", 2)]], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    }[kind]
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0, 4.0], "deep": cells}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: 1 column\(s\) have lists or records for cells \(deep"):
        rspca.read(tmp_path / "t.parquet")
    result = call("fit", "t.parquet", "-k", "1", cwd=tmp_path)
    assert result.returncode == 2
    assert "t.parquet" in one_line(result.stderr)
