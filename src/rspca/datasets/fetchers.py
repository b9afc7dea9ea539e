"""The public data of the paper: found locally or downloaded, read and labeled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from rspca.base.checks import check_choice
from rspca.base.files import lines
from rspca.base.types import Array
from rspca.datasets import registry
from rspca.datasets.download import local, located
from rspca.datasets.registry import DataFile
from rspca.formats.geo import SeriesMatrix, read_series_matrix
from rspca.formats.laser import read_laser
from rspca.formats.smart import read_smart
from rspca.genetics.plink import Genotypes, read_plink

_CONTROL_PROBES = "AFFX"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Dataset:
    """A data set: its matrix, names, labels, and where it is from.

    Attributes
    ----------
    matrix : ndarray or scipy CSR array
        Samples x features, not centered.
    feature_names, sample_names : tuple of str
        Names of columns and rows.
    labels : ndarray of str
        A class for each sample: collection, tissue or population.
    description : str
        What the entries are, and how they were made from the source.
    source : str
        Where the files come from.
    """

    matrix: Any
    feature_names: tuple[str, ...]
    sample_names: tuple[str, ...]
    labels: Array
    description: str
    source: str

    def __repr__(self) -> str:
        m, n = self.matrix.shape
        return f"<Dataset {m} x {n}, {len(np.unique(self.labels))} classes: {self.description}>"


def fetch_classic2(*, stop_words: Any = "tmg") -> Dataset:
    """Return Classic-2, the text data of the paper: abstracts on information science and on aeronautics.

    CISI (1,460 documents) and Cranfield (1,398 that are not empty), title and abstract; weights as in
    :func:`rspca.text.term_matrix`. With the stop list of TMG the shape is the paper's, 2,858 x 12,427.

    Files come from RSPCA_DATA, else from the cache, else from the web (pooch is needed: ``rspca[data]``); each is held
    to its SHA-256. Where RSPCA_DATA has ``classic2/classic2_counts.npz``, the counts made for the paper's
    matrix, these are used; they equal what the documents give.

    Parameters
    ----------
    stop_words : "tmg", "default", path, iterable of str, or None
        "tmg" is the list of the Text to Matrix Generator, which the paper used; it is downloaded like the documents,
        as it is not ours to ship. Else as in :func:`rspca.text.term_matrix`.

    Examples
    --------
    >>> import rspca
    >>> classic2 = rspca.datasets.fetch_classic2()  # doctest: +SKIP
    >>> classic2.matrix.shape  # doctest: +SKIP
    (2858, 12427)
    """
    if _is_tmg(stop_words):
        counts, vocabulary = local(registry.CLASSIC2_COUNTS), local(registry.CLASSIC2_VOCABULARY)
        if counts and vocabulary:
            return _stored_classic2(counts, vocabulary)
    return _classic({"CISI": registry.CISI, "CRAN": registry.CRANFIELD}, stop_words)


def fetch_classic3(*, stop_words: Any = "tmg") -> Dataset:
    """Return Classic-3: Classic-2 and 1,033 medical abstracts (MEDLINE); see :func:`fetch_classic2`.

    Parameters
    ----------
    stop_words : "tmg", "default", path, iterable of str, or None
        As in :func:`fetch_classic2`.

    Examples
    --------
    >>> import rspca
    >>> rspca.datasets.fetch_classic3().matrix.shape[0]  # doctest: +SKIP
    3891
    """
    return _classic({"CISI": registry.CISI, "CRAN": registry.CRANFIELD, "MED": registry.MEDLINE}, stop_words)


def fetch_gse10072(*, controls: bool = False) -> Dataset:
    """Return GSE10072, the gene expression data of the paper: lung tumours and normal lung tissue, 107 x 22,215.

    The series matrix of the Gene Expression Omnibus (Landi and others, 2008; platform HG-U133A), values as there. Its
    checksum is not known in advance, because NCBI rewrites the file from time to time: a download is accepted if it
    reads from beginning to end, is GSE10072 and has 107 samples of 22,283 probes. The checksum of the first such
    download is kept in the cache and holds from then on.

    Parameters
    ----------
    controls : bool
        Whether to keep the 68 control probes (their names begin with AFFX), which the paper leaves out.

    Examples
    --------
    >>> import rspca
    >>> rspca.datasets.fetch_gse10072().matrix.shape  # doctest: +SKIP
    (107, 22215)
    """
    study = _read_gse10072(located(registry.GSE10072, _read_gse10072))
    used = [controls or not name.startswith(_CONTROL_PROBES) for name in study.feature_names]
    return Dataset(
        matrix=study.matrix[:, used],
        feature_names=tuple(name for name, keep in zip(study.feature_names, used, strict=True) if keep),
        sample_names=study.sample_names,
        labels=np.array(study.samples["source_name_ch1"][0]),
        description="GSE10072, expression of lung tumours and normal lung tissue, values of the series matrix",
        source=registry.GSE10072.remotes[0].url,
    )


def fetch_hapmap3(*, chromosome: int | None = None) -> Dataset:
    """Return HapMap phase 3: 957 founders of 11 populations at 14,389 variants, thinned for linkage.

    Counts of the minor allele, missing calls (0.15 %) replaced by the mean of the variant, float32. Chromosomes 1 to
    22, and 123 variants on those coded 23, 25 and 26. The paper's joint set of HapMap and HGDP is not public; this is
    a part of HapMap that is. Files as for :func:`fetch_classic2`.

    Parameters
    ----------
    chromosome : int, optional
        Only the variants of this chromosome.

    Examples
    --------
    >>> import rspca
    >>> rspca.datasets.fetch_hapmap3(chromosome=1).matrix.shape  # doctest: +SKIP
    (957, 1129)
    """
    genotypes = _plink(registry.HAPMAP3_BED, registry.HAPMAP3_BIM, registry.HAPMAP3_FAM, chromosome)
    return _genetic(
        genotypes,
        _joined(genotypes.people, registry.HAPMAP3_POPULATIONS, 6),
        "HapMap 3, counts of the minor allele, missing calls as means",
        registry.HAPMAP3_BED,
    )


def fetch_hgdp(*, subset: str = "europe", chromosome: int | None = None) -> Dataset:
    """Return a part of the Human Genome Diversity Panel: counts of an allele, missing calls as means, float32.

    Files as for :func:`fetch_classic2`.

    Parameters
    ----------
    subset : {"europe", "world"}
        "europe": 156 Europeans of 8 populations at 66,147 variants thinned for linkage. "world": 238 people of about
        50 populations at 7,652 neighbouring variants of chromosome 22.
    chromosome : int, optional
        Only the variants of this chromosome.

    Examples
    --------
    >>> import rspca
    >>> rspca.datasets.fetch_hgdp().matrix.shape  # doctest: +SKIP
    (156, 66147)
    """
    check_choice("subset", subset, ("europe", "world"))
    if subset == "europe":
        genotypes = _plink(registry.HGDP_BED, registry.HGDP_BIM, registry.HGDP_FAM, chromosome)
        labels = _joined(genotypes.people, registry.HGDP_POPULATIONS, 2)
        file, description = registry.HGDP_BED, "HGDP, Europeans, allele counts, missing calls as means"
    else:
        check_choice("chromosome", chromosome, (None, 22))
        genotypes, labels = read_laser(located(registry.HGDP_CHR22_GENO), located(registry.HGDP_CHR22_SITE))
        file, description = registry.HGDP_CHR22_GENO, "HGDP, worldwide, part of chromosome 22, missing calls as means"
    return _genetic(genotypes, labels, description, file)


def _is_tmg(stop_words: Any) -> bool:
    return isinstance(stop_words, str) and stop_words == "tmg"


def _classic(collections: Mapping[str, DataFile], stop_words: Any) -> Dataset:
    """Return SMART collections as one matrix; documents without a term are dropped before weighting."""
    from rspca.formats.tf_idf import term_matrix  # loads scikit-learn, which the other data sets do without

    if _is_tmg(stop_words):
        stop_words = located(registry.TMG_STOP_WORDS)
    names, texts = [], []
    for name, file in collections.items():
        for document in read_smart(located(file)):
            names.append(f"{name} {document.number}")
            texts.append(document.text("TW"))  # Cranfield repeats the title in .W; twice is what the paper counted
    terms = term_matrix(texts, stop_words=stop_words, empty="drop")
    documents = [names[int(position)] for position in terms.documents]
    source = "; ".join(file.remotes[0].url for file in collections.values())
    return _text_data(terms.matrix, terms.vocabulary, documents, source)


def _stored_classic2(counts: Path, vocabulary: Path) -> Dataset:
    from rspca.formats.tf_idf import tf_idf

    with np.load(counts, allow_pickle=False) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        matrix = scipy.sparse.csr_array(parts, shape=tuple(stored["shape"]))
    # Cranfield's documents 471 and 995 are empty.
    names = [*(f"CISI {i}" for i in range(1, 1461)), *(f"CRAN {i}" for i in range(1, 1401) if i not in (471, 995))]
    return _text_data(tf_idf(matrix), tuple(lines(vocabulary)), names, str(counts))


def _text_data(matrix: Any, vocabulary: tuple[str, ...], names: list[str], source: str) -> Dataset:
    labels = [name.split()[0] for name in names]
    return Dataset(
        matrix=matrix,
        feature_names=vocabulary,
        sample_names=tuple(names),
        labels=np.array(labels),
        description=f"{', '.join(dict.fromkeys(labels))}: count x log2(m / df), rows of unit length",
        source=source,
    )


def _read_gse10072(path: Path) -> SeriesMatrix:
    """Return the study, or raise if the file is another one."""
    study = read_series_matrix(path)
    accession = study.series.get("geo_accession", [("none",)])[0]
    if study.matrix.shape != (107, 22283) or accession != ("GSE10072",) or "source_name_ch1" not in study.samples:
        raise ValueError(
            f"{path} is {' '.join(accession)} of {study.matrix.shape[0]} samples by {study.matrix.shape[1]} probes; "
            "GSE10072 has 107 by 22283."
        )
    if not np.isfinite(study.matrix).all():
        raise ValueError(f"{path} has missing values; GSE10072 has none.")
    return study


def _plink(bed: DataFile, bim: DataFile, fam: DataFile, chromosome: int | None) -> Genotypes:
    return read_plink(located(bed), bim=located(bim), fam=located(fam), chromosome=chromosome)


def _joined(people: tuple[str, ...], file: DataFile, column: int) -> Array:
    """Return the population of each person from a table that has names in column 1."""
    path = located(file)
    population = {fields[1]: fields[column] for line in lines(path) if len(fields := line.split()) > column}
    unknown = [person for person in people if person not in population]
    if unknown:
        raise ValueError(f"{path} has no population for {len(unknown)} people, the first of them {unknown[0]}.")
    return np.array([population[person] for person in people])


def _genetic(genotypes: Genotypes, labels: Array, description: str, file: DataFile) -> Dataset:
    return Dataset(
        matrix=genotypes.matrix,
        feature_names=genotypes.variants,
        sample_names=genotypes.people,
        labels=labels,
        description=description,
        source=file.remotes[0].url,
    )
