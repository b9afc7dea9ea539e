"""The files behind the fetched data sets: their names, their checksums, and the public copies of each."""

from __future__ import annotations

from typing import NamedTuple


class Remote(NamedTuple):
    """A public copy of a file."""

    url: str
    sha256: str | None = None  # of what the address serves; None where those bytes were never seen
    member: str | None = None  # the file inside an archive
    repairs: tuple[tuple[bytes, bytes], ...] = ()  # edits that this copy carries: (what it has, what is right)


class DataFile(NamedTuple):
    """A file that a data set needs."""

    path: str  # below RSPCA_DATA or the cache; there the file may also be gzipped and have .gz after its name
    sha256: str | None  # of its uncompressed content; None: whatever comes is checked by reading it, then remembered
    remotes: tuple[Remote, ...] = ()


def _github(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _glasgow(archive: str) -> str:
    """Return the address of an archive at the home of the collections, the University of Glasgow."""
    return f"https://ir.dcs.gla.ac.uk/resources/test_collections/{archive}"


def _as_served(path: str, sha256: str, url: str) -> DataFile:
    """Return a file whose public copy is byte for byte its content."""
    return DataFile(path, sha256, (Remote(url, sha256),))


_HAPMAP3 = ("gabraham/flashpca", "b8044f13607a072125828547684fde8b081d6191")
_HGDP = ("NovembreLab/HGDP_PopStruct_Exercise", "ce65a2683776c25ef7fa1b7f66c27d496dac1b7f")
_LASER = ("cinquin/LASER", "d6ab8b4e105d3d40711652c647d483214799214a")

# The checksums of archives are not known here; that of the file inside is, and decides.
CISI = DataFile(
    "classic2/CISI.ALL",
    "df5af339fa4623ef33e315f39f3e13c050d17535c18360c727bf3c96ce60ba40",
    (
        Remote(_glasgow("cisi/cisi.tar.gz"), member="CISI.ALL"),
        Remote(
            _github("PsychoProg/tf-idf", "beee251dd1356ee4ffb453ac60cf8f9112840f5d", "cisi.tar.gz"), member="CISI.ALL"
        ),
    ),
)
CRANFIELD = DataFile(
    "classic2/cran.all.1400",
    "b234544b6ceccd131520df4a3cb6d42aee6576eb577933d047e722bbfe7b0b09",
    (
        Remote(_glasgow("cran/cran.tar.gz"), member="cran.all.1400"),
        Remote(
            _github("Chetan-Prasad/IR-Lucene_Cran", "ff1bd825c1781e908fdcb8a20609ef779abb3d2a", "cran.all.1400"),
            "73d33d7e445b884bc32332034e7bc7d07ad5089d9030ead9f1de3493da21da1d",
            repairs=((b"brenckman,m.\t\n", b"brenckman,m.\n"),),
        ),
    ),
)
MEDLINE = DataFile(
    "classic2/MED.ALL",
    "ff214f631a2720d192b856c79adec6a89b45553fdbbc40cca81209338b38a3bd",
    (
        Remote(_glasgow("medl/med.tar.gz"), member="MED.ALL"),
        Remote(
            _github("adaxu91/lucene-searching", "ed60ce40f8bd9a0ec864f1c364b68a470d787c6c", "MED.ALL"),
            "3935bb781ee3f34c91dec4401281b29899143101549e436cf45ed540de399d33",
            repairs=((b"to be or not to be. to be or not to be.", b""),),
        ),
    ),
)
TMG_STOP_WORDS = _as_served(
    "classic2/tmg_common_words.txt",
    "789c87d1ceff183cd06701c3f52d98288593fdbd4f2d5311b6d25f35ac0f313e",
    _github(
        "dzitkowskik/Introduction-To-Machine-Learning-And-Data-Mining",
        "97dea8a89f46aa8356d88e2473914ecddc2bcfaa",
        "Matlab/Tools/TMG_6.0R7/common_words",
    ),
)

# Made from the files above for the paper's matrix; no public copy.
CLASSIC2_COUNTS = DataFile(
    "classic2/classic2_counts.npz", "605469576ee41bb3dda9cae1274ec02e01eaee41117b99021a8927cb99fd284a"
)
CLASSIC2_VOCABULARY = DataFile(
    "classic2/classic2_vocab.txt", "d143397fb650682d05e56413f5961aed2d348c59953ffa316c8ea8ab7853ec14"
)

# NCBI rewrites the file from time to time, so its checksum is not known in advance.
GSE10072 = DataFile(
    "gse10072/GSE10072_series_matrix.txt",
    None,
    (Remote("https://ftp.ncbi.nlm.nih.gov/geo/series/GSE10nnn/GSE10072/matrix/GSE10072_series_matrix.txt.gz"),),
)

HAPMAP3_BED = _as_served(
    "hapmap3_flashpca/data.bed",
    "3919b6d83d2c4bd6607241b86a5734f27f69454ddbc88b947ff50a2b5a47fc06",
    _github(*_HAPMAP3, "HapMap3/data.bed"),
)
HAPMAP3_BIM = _as_served(
    "hapmap3_flashpca/data.bim",
    "605dc9f8ebc7d24660e81b7e6aeb9283ba33f34cc198be74756aa819fd094fd5",
    _github(*_HAPMAP3, "HapMap3/data.bim"),
)
HAPMAP3_FAM = _as_served(
    "hapmap3_flashpca/data.fam",
    "d70ddafd3caed0b974e5029f550817a822a8afafe277920633c28766069ec509",
    _github(*_HAPMAP3, "HapMap3/data.fam"),
)
HAPMAP3_POPULATIONS = _as_served(
    "hapmap3_flashpca/relationships_w_pops_121708.txt",
    "2f109108a43a4115d7e696a469470999858bfd177df51dc5bf5331bcc7205691",
    _github(*_HAPMAP3, "HapMap3/relationships_w_pops_121708.txt"),
)

HGDP_BED = _as_served(
    "hgdp_euro/H938_Euro.LDprune.bed",
    "4c41ba59a3ee3fbf02869e34f3c56a52dd28c75c7939047672288552a0760b4f",
    _github(*_HGDP, "data/H938_Euro.LDprune.bed"),
)
HGDP_BIM = _as_served(
    "hgdp_euro/H938_Euro.LDprune.bim",
    "1a523da5d9ac9d8f2def0cad250cdf336a4bdd042acf0a67a31b90a22bd59594",
    _github(*_HGDP, "data/H938_Euro.LDprune.bim"),
)
HGDP_FAM = _as_served(
    "hgdp_euro/H938_Euro.LDprune.fam",
    "811ee23e9105bf86acf0f5fbcfed7f59a1f6966b73a254dcacb30a6f3881ae6d",
    _github(*_HGDP, "data/H938_Euro.LDprune.fam"),
)
HGDP_POPULATIONS = _as_served(
    "hgdp_euro/H938.clst.txt",
    "01498b9b5a77f2284e15ea2d62617b8e5e974cc19d1d237c85b392c70b0764b1",
    _github(*_HGDP, "data/H938.clst.txt"),
)
HGDP_CHR22_GENO = _as_served(
    "hgdp_world_chr22/HGDP_238_chr22_subset.geno",
    "1dd6311c745422f8e8a3511761f8f4b84b4b17df56b7c7ed78629991588dd96c",
    _github(*_LASER, "example/HGDP_238_chr22_subset.geno"),
)
HGDP_CHR22_SITE = _as_served(
    "hgdp_world_chr22/HGDP_238_chr22_subset.site",
    "05e67154acb8f21820f0fa580b42e76daf75e5bf83f839e691f0d0f3cdbeaf35",
    _github(*_LASER, "example/HGDP_238_chr22_subset.site"),
)
