"""Fetched data against a web server on this machine: whole, wrong, cut off or absent; the cache stays clean."""

import gzip
import hashlib
import http.server
import io
import logging
import resource
import socket
import sys
import tarfile
import threading
from functools import partial

import numpy as np
import pytest

import rspca
from benchmarks.data import data_path
from rspca.datasets import (
    download,
    fetch_classic2,
    fetch_classic3,
    fetch_gse10072,
    fetch_hapmap3,
    fetch_hgdp,
    fetchers,
    registry,
)
from rspca.datasets.registry import DataFile, Remote

pooch = pytest.importorskip("pooch")

CONTENT = b"some words\n" * 1000


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Server:
    """Pages by path: bytes, or a list of them for one request after the other; None breaks off half-way."""

    def __init__(self):
        self.pages, self.requests = {}, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                page = outer.pages.get(self.path)
                if isinstance(page, list):
                    page = page.pop(0)
                if page is None and self.path not in outer.pages:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(CONTENT if page is None else page)))
                self.end_headers()
                self.wfile.write(CONTENT[: len(CONTENT) // 2] if page is None else page)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=partial(self.http.serve_forever, poll_interval=0.01), daemon=True)
        self.thread.start()

    def url(self, path, page=b""):
        self.pages[f"/{path}"] = page
        return f"http://127.0.0.1:{self.http.server_port}/{path}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server():
    one = Server()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty place for downloads; no local data, no proxy, no second try."""
    monkeypatch.delenv("RSPCA_DATA", raising=False)
    monkeypatch.setenv("RSPCA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "RETRIES", 0)
    return tmp_path / "cache"


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*")) if folder.exists() else []


def tar(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        entry = tarfile.TarInfo(f"folder/{name}")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


# One file


@pytest.mark.parametrize(
    ("served", "options"),
    [
        (CONTENT, {"sha256": sha256(CONTENT)}),
        (CONTENT, {}),
        (tar("words.txt", CONTENT), {"member": "words.txt"}),
        (CONTENT + b"scribble", {"repairs": ((b"scribble", b""),)}),
    ],
)
def test_a_download_is_checked_and_kept(server, cache, caplog, capfd, served, options):
    file = DataFile("set/words.txt", sha256(CONTENT), (Remote(server.url("words.txt", served), **options),))
    with caplog.at_level(logging.INFO):
        path = download.located(file)
    assert path == cache / "set" / "words.txt"
    assert path.read_bytes() == CONTENT
    assert files(cache) == ["set", "set/words.txt"]
    assert download.located(file) == path
    assert len(server.requests) == 1
    assert (caplog.text, capfd.readouterr()) == ("", ("", ""))  # nothing prints below the command line


def test_a_gzipped_download_stays_gzipped(server, cache):
    url = server.url("words.txt.gz", gzip.compress(CONTENT, mtime=0))
    path = download.located(DataFile("words.txt", sha256(CONTENT), (Remote(url),)))
    assert path == cache / "words.txt.gz"
    assert gzip.decompress(path.read_bytes()) == CONTENT


@pytest.mark.parametrize(
    ("page", "options", "error", "reason"),
    [
        (b"other", {"sha256": sha256(CONTENT)}, ValueError, "wrong checksum"),
        (b"other", {}, ValueError, r"SHA-256 \w{12}... instead of"),
        (CONTENT[:-1], {}, ValueError, r"SHA-256 \w{12}... instead of"),
        (None, {}, ConnectionError, "the transfer broke off"),
        (b"no archive", {"member": "words.txt"}, ValueError, "a damaged archive"),
        (tar("words.txt", CONTENT)[:-30], {"member": "words.txt"}, ValueError, "a damaged archive"),
        (tar("others.txt", CONTENT), {"member": "words.txt"}, ValueError, "an archive without words.txt"),
        (gzip.compress(CONTENT, mtime=0)[:-9], {}, ValueError, "damaged or cut off"),
    ],
)
def test_a_bad_download_leaves_nothing_and_says_what_to_do(server, cache, page, options, error, reason):
    file = DataFile("set/words.txt", sha256(CONTENT), (Remote(server.url("words.txt", page), **options),))
    with pytest.raises(error, match=reason) as caught:
        download.located(file)
    message = str(caught.value)
    assert "\n" not in message
    assert f"Save it by hand as {cache / 'set' / 'words.txt'}, or set RSPCA_DATA to a folder that has set" in message
    assert not cache.exists()


def test_a_full_disk_leaves_nothing_in_the_cache_and_is_one_line(server, cache):
    file = DataFile("set/words.txt", sha256(CONTENT), (Remote(server.url("words.txt", CONTENT)),))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"words\.txt could not be written: file too large\. Set RSPCA_CACHE") as told:
            download.located(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(told.value)
    assert not cache.exists()
    assert download.located(file).read_bytes() == CONTENT


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_no_network_and_no_such_page_are_told_apart(server, cache):
    refused = Remote(f"http://127.0.0.1:{closed_port()}/words.txt")
    with pytest.raises(ConnectionError, match=r"words.txt could not be had from http\S+ \(no connection\)\. Save it"):
        download.located(DataFile("set/words.txt", None, (refused,)))
    absent = Remote(server.url("here").replace("here", "absent"))
    with pytest.raises(ConnectionError, match=r"\(no connection\); http\S+ \(404 .*Not Found") as caught:
        download.located(DataFile("set/words.txt", None, (refused, absent)))
    assert "\n" not in str(caught.value)
    assert not cache.exists()


def test_the_next_copy_is_tried_when_one_fails(server, cache):
    remotes = (
        Remote(f"http://127.0.0.1:{closed_port()}/words.txt"),
        Remote(server.url("edited.txt", b"edited")),
        Remote(server.url("right.txt", CONTENT), sha256(CONTENT)),
    )
    assert download.located(DataFile("words.txt", sha256(CONTENT), remotes)).read_bytes() == CONTENT
    assert files(cache) == ["words.txt"]


def test_a_transfer_that_breaks_off_is_tried_again(server, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", 1)
    file = DataFile("words.txt", sha256(CONTENT), (Remote(server.url("words.txt", [None, CONTENT]), sha256(CONTENT)),))
    assert download.located(file).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_an_interrupted_download_leaves_nothing(server, cache, monkeypatch):
    def interrupted(*_args, **_options):
        def downloader(_url, output, _pooch):
            with open(output, "wb") as file:
                file.write(b"half")
            raise KeyboardInterrupt

        return downloader

    monkeypatch.setattr(pooch, "HTTPDownloader", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download.located(DataFile("set/words.txt", sha256(CONTENT), (Remote(server.url("words.txt", CONTENT)),)))
    assert not cache.exists()


def test_what_was_in_the_cache_outlives_a_failure(server, cache):
    (cache / "set").mkdir(parents=True)
    (cache / "set" / "other.txt").write_text("kept")
    with pytest.raises(ValueError, match="instead of"):
        download.located(DataFile("set/words.txt", sha256(CONTENT), (Remote(server.url("words.txt", b"bad")),)))
    assert files(cache) == ["set", "set/other.txt"]


def test_a_damaged_file_in_the_cache_is_downloaded_again(server, cache):
    file = DataFile("words.txt", sha256(CONTENT), (Remote(server.url("words.txt", CONTENT)),))
    cache.mkdir()
    (cache / "words.txt").write_bytes(CONTENT[:50])
    assert download.located(file).read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_a_file_of_unknown_checksum_is_read_and_then_held_to_its_first_download(server, cache):
    checked = []

    def check(path):
        checked.append(path.read_bytes())
        if b"words" not in checked[-1]:
            raise ValueError("no words in it")

    file = DataFile("words.txt", None, (Remote(server.url("words.txt", [b"junk", CONTENT, CONTENT])),))
    with pytest.raises(ValueError, match="no words in it"):
        download.located(file, check)
    assert not cache.exists()
    path = download.located(file, check)
    assert (cache / "words.txt.sha256").read_text().strip() == sha256(CONTENT)
    assert download.located(file, check) == path
    assert len(checked) == 2
    path.write_bytes(b"changed words")
    assert download.located(file, check).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_a_file_saved_by_hand_where_the_message_says_is_found(cache):
    remote = Remote(f"http://127.0.0.1:{closed_port()}/words.txt")
    file = DataFile("set/words.txt", sha256(CONTENT), (remote,))
    with pytest.raises(ConnectionError):
        download.located(file)
    (cache / "set").mkdir(parents=True)
    (cache / "set" / "words.txt").write_bytes(CONTENT)
    assert download.located(file).read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written_is_named(server, tmp_path, monkeypatch):
    def denied(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryDirectory", denied)
    with pytest.raises(PermissionError, match="cannot be written to; set RSPCA_CACHE to a folder for downloads"):
        download.located(DataFile("set/words.txt", None, (Remote(server.url("words.txt", CONTENT)),)))


# RSPCA_DATA


@pytest.mark.parametrize("packed", [False, True])
def test_a_local_copy_is_used_without_network_or_pooch(tmp_path, monkeypatch, packed):
    monkeypatch.setenv("RSPCA_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    path = tmp_path / ("words.txt.gz" if packed else "words.txt")
    path.write_bytes(gzip.compress(CONTENT, mtime=0) if packed else CONTENT)
    assert download.located(DataFile("words.txt", sha256(CONTENT))) == path


def test_a_wrong_local_copy_is_refused_and_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("RSPCA_DATA", str(tmp_path))
    path = tmp_path / "words.txt"
    for content, reason in [
        (b"other", r"SHA-256 \w{12}... instead of \w{12}..."),
        (gzip.compress(CONTENT, mtime=0)[:-9], "it is damaged or cut off"),
    ]:
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=rf"words.txt is not the file that rspca knows \({reason}\). Put the right"
        ):
            download.located(DataFile("words.txt", sha256(CONTENT)))
        assert path.read_bytes() == content


def test_a_local_folder_that_lacks_the_file_leads_to_the_download(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RSPCA_DATA", str(tmp_path))
    file = DataFile("words.txt", sha256(CONTENT), (Remote(server.url("words.txt", CONTENT)),))
    assert download.located(file).read_bytes() == CONTENT
    monkeypatch.setenv("RSPCA_DATA", str(tmp_path / "absent"))
    with pytest.raises(ValueError, match=r"RSPCA_DATA=.*absent is not a folder"):
        download.located(file)


def test_without_pooch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"Downloads need pooch: pip install 'rspca\[data\]', or set RSPCA_DATA"):
        fetch_classic2()


def test_the_cache_is_the_users_unless_chosen(monkeypatch):
    monkeypatch.delenv("RSPCA_CACHE")
    assert download.cache_folder() == pooch.os_cache("rspca")


# The registry


def entries():
    return [value for value in vars(registry).values() if isinstance(value, DataFile)]


def test_every_entry_has_a_checksum_or_a_reader_and_a_secure_home():
    assert [file.path for file in entries() if file.sha256 is None] == ["gse10072/GSE10072_series_matrix.txt"]
    assert len({file.path for file in entries()}) == len(entries())
    for file in entries():
        assert file.sha256 is None or len(file.sha256) == 64
        assert all(remote.url.startswith("https://") for remote in file.remotes)
    assert [file.path for file in entries() if not file.remotes] == [
        "classic2/classic2_counts.npz", "classic2/classic2_vocab.txt",
    ]  # fmt: skip


@pytest.mark.parametrize("file", [f for f in entries() if f.sha256], ids=lambda file: file.path)
def test_the_checksums_are_those_of_the_shared_files(file, monkeypatch):
    monkeypatch.setenv("RSPCA_DATA", str(data_path()))
    if download.local(file) is None:
        pytest.skip(f"{file.path} is absent")


# Whole data sets from a server that has the real files


def serve(server, monkeypatch, **names):
    """Let registry entries point to the real files, as they come from their public homes."""
    for name, page in names.items():
        file = getattr(registry, name)
        remotes = (Remote(server.url(file.path, page), sha256(page)),)
        monkeypatch.setattr(registry, name, file._replace(remotes=remotes))


def real(*parts):
    path = data_path(*parts)
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def edited(file, old, new):
    """A public copy as it is: with the edit that the registry undoes; its checksum is the registry's."""
    page = real("classic2", f"{file.path.split('/')[1]}.gz").replace(old, new, 1)
    assert sha256(page) == file.remotes[1].sha256
    return page


def test_classic_collections_are_built_from_downloads(server, cache, monkeypatch):
    cisi = tar("CISI.ALL", real("classic2", "CISI.ALL.gz"))
    cran = edited(registry.CRANFIELD, b"brenckman,m.\n", b"brenckman,m.\t\n")
    insert = b"to be or not to be. to be or not to be."
    med = edited(registry.MEDLINE, b"fatty acids .  ", b"fatty acids .  " + insert)
    for name, page, index in (("CISI", cisi, 0), ("CRANFIELD", cran, 1), ("MEDLINE", med, 1)):
        file = getattr(registry, name)
        remote = file.remotes[index]._replace(url=server.url(file.path, page))
        monkeypatch.setattr(registry, name, file._replace(remotes=(remote,)))
    serve(server, monkeypatch, TMG_STOP_WORDS=real("classic2", "tmg_common_words.txt"))
    two, three = fetch_classic2(), fetch_classic3()
    assert two.matrix.shape == (2858, 12427)
    assert three.matrix.shape == (3891, 20020)
    assert dict(zip(*np.unique(three.labels, return_counts=True), strict=True)) == {
        "CISI": 1460,
        "CRAN": 1398,
        "MED": 1033,
    }
    assert files(cache) == [
        "classic2",
        *(f"classic2/{n}" for n in ("CISI.ALL", "MED.ALL", "cran.all.1400", "tmg_common_words.txt")),
    ]
    assert len(server.requests) == 4
    monkeypatch.setenv("RSPCA_DATA", str(data_path()))
    stored = fetch_classic2()
    assert stored.source.endswith("classic2_counts.npz")
    assert (stored.feature_names, stored.sample_names) == (two.feature_names, two.sample_names)
    assert abs(stored.matrix - two.matrix).max() == 0
    np.testing.assert_array_equal(stored.labels, two.labels)
    labels = data_path("classic2", "classic2_labels.txt").read_text().split()
    np.testing.assert_array_equal(stored.labels, labels)
    assert fetch_classic2(stop_words="default").matrix.shape == (2858, 12443)


def test_hapmap3_is_built_from_downloads(server, cache, monkeypatch):
    serve(server, monkeypatch, **{
        f"HAPMAP3_{kind}": real("hapmap3_flashpca", name) for kind, name in (
            ("BED", "data.bed"), ("BIM", "data.bim.gz"), ("FAM", "data.fam"),
            ("POPULATIONS", "relationships_w_pops_121708.txt"),
        )
    })  # fmt: skip
    people = fetch_hapmap3()
    assert people.matrix.shape == (957, 14389)
    assert people.matrix.dtype == np.float32
    assert len(people.sample_names) == len(people.labels) == 957
    assert dict(zip(*np.unique(people.labels, return_counts=True), strict=True))["MKK"] == 140
    assert fetch_hapmap3(chromosome=2).matrix.shape == (957, 1040)
    assert len(files(cache)) == 5
    assert len(server.requests) == 4
    Y = people.matrix - people.matrix.mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(np.linalg.eigvalsh(Y @ Y.T)[::-1][:3], [185674.8, 163362.9, 46769.8], rtol=1e-6)


def test_hgdp_is_read_from_local_copies(monkeypatch):
    for parts in (("hgdp_euro", "H938_Euro.LDprune.bed"), ("hgdp_world_chr22", "HGDP_238_chr22_subset.geno.gz")):
        data_path(*parts)
    monkeypatch.setenv("RSPCA_DATA", str(data_path()))
    europe = fetch_hgdp()
    assert europe.matrix.shape == (156, 66147)
    assert dict(zip(*np.unique(europe.labels, return_counts=True), strict=True))["Sardinian"] == 28
    assert fetch_hgdp(chromosome=1).matrix.shape == (156, 5195)
    world = fetch_hgdp(subset="world")
    assert world.matrix.shape == (238, 7652)
    assert world.feature_names[0] == "rs2027653"
    assert (world.sample_names[0], world.labels[0]) == ("HGDP00001", "Brahui")
    assert repr(world).startswith("<Dataset 238 x 7652, 51 classes: HGDP")
    with pytest.raises(ValueError, match="subset='africa' is not known"):
        fetch_hgdp(subset="africa")
    with pytest.raises(ValueError, match="chromosome=3 is not known"):
        fetch_hgdp(subset="world", chromosome=3)


# GSE10072: no copy is at hand, so a file of its shape stands in


@pytest.fixture(scope="module")
def study():
    """A series matrix with the samples, probes and labels that GSE10072 has by number; its values are made up."""
    names = [f'"GSM{254625 + i}"' for i in range(107)]
    values = "\t".join(str(round(4 + i / 10, 1)) for i in range(107))
    probes = [f"{i}_at" for i in range(22215)] + [f"AFFX-{i}" for i in range(68)]
    tissue = ['"Adenocarcinoma of the Lung"'] * 58 + ['"Normal Lung Tissue"'] * 49
    lines = ['!Series_geo_accession\t"GSE10072"', "\t".join(["!Sample_geo_accession", *names])]
    lines += ["\t".join(["!Sample_source_name_ch1", *tissue]), "!series_matrix_table_begin"]
    lines += ["\t".join(['"ID_REF"', *names]), *(f'"{probe}"\t{values}' for probe in probes)]
    return "\n".join([*lines, "!series_matrix_table_end", ""]).encode()


def test_gse10072_is_read_labelled_and_remembered(server, cache, monkeypatch, study):
    page = gzip.compress(study, 1)
    remote = Remote(server.url("GSE10072_series_matrix.txt.gz", page))
    monkeypatch.setattr(registry, "GSE10072", registry.GSE10072._replace(remotes=(remote,)))
    lung = fetch_gse10072()
    assert lung.matrix.shape == (107, 22215)
    np.testing.assert_allclose(lung.matrix[:, 0], 4 + np.arange(107) / 10)
    assert dict(zip(*np.unique(lung.labels, return_counts=True), strict=True)) == {
        "Adenocarcinoma of the Lung": 58, "Normal Lung Tissue": 49,
    }  # fmt: skip
    name = "gse10072/GSE10072_series_matrix.txt.gz"
    assert files(cache) == ["gse10072", name, f"{name}.sha256"]
    assert fetch_gse10072(controls=True).matrix.shape == (107, 22283)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"GSE10072"', b'"GSE10073"', "is GSE10073 of 107 samples"),
        (b'"7_at"\t4.0', b'"7_at"\t', "has missing values"),
        (b"\n!series_matrix_table_end", b"", r"\(GSE10072_series_matrix.txt.gz has no .* cut off after 22283 rows"),
    ],
)
def test_another_study_than_gse10072_is_not_kept(server, cache, monkeypatch, study, old, new, message):
    assert old in study
    remote = Remote(server.url("GSE10072_series_matrix.txt.gz", gzip.compress(study.replace(old, new), 1)))
    monkeypatch.setattr(registry, "GSE10072", registry.GSE10072._replace(remotes=(remote,)))
    with pytest.raises(ValueError, match=message):
        fetch_gse10072()
    assert not cache.exists()


def test_people_without_a_population_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RSPCA_DATA", str(tmp_path))
    (tmp_path / "labels.txt").write_text("F P1 Tuscan\n")
    with pytest.raises(ValueError, match=r"labels.txt has no population for 1 people, the first of them P2"):
        fetchers._joined(("P1", "P2"), DataFile("labels.txt", None), 2)


def test_fetching_is_reached_from_the_package():
    assert rspca.datasets.fetch_classic2 is fetch_classic2
