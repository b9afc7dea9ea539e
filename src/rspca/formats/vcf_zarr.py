"""VCF Zarr stores, as vcf2zarr of bio2zarr writes them: calls packed once, variants as features."""

from __future__ import annotations

from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from rspca.base.checks import RefusedFile, check_choice, shown
from rspca.base.files import PathLike
from rspca.base.types import Array, OnStep
from rspca.formats.genotype_tables import checked_selection, compile_kernels, genotype_table
from rspca.formats.table import Table
from rspca.formats.zarr_arrays import check_chunks_fit, read_slice
from rspca.formats.zarr_store import MISSING_CHUNKS, check_array, check_fits, is_store, opened_store
from rspca.genetics.packing import let_go_of_many, pack_calls, room_for_rows
from rspca.genetics.selection import check_distinct
from rspca.operators.base import chunks
from rspca.operators.plink import PackedOperator, Part
from rspca.operators.streamed import memory_size

TILE_BYTES = 1 << 25
"""Bytes of genotypes that are unpacked at a time: limit of memory."""
TEXTS_AT_ONCE = 1 << 13
"""Texts that are strings of Python before they become an array, which takes a tenth as much: limit of memory."""
MISSING, FILL = -1, -2
"""Codes of an allele that was not called, and of a place that a call of lower ploidy does not use."""
NEEDED = ("call_genotype", "contig_id", "sample_id", "variant_allele", "variant_contig", "variant_position")
"""Arrays that a store must have."""
LEFT_OUT = ("call_genotype_mask", "variant_contig")
"""Arrays of which vcf2zarr leaves out chunks in ordinary stores, as they are zero: no hidden call, the first contig."""
PLOIDY = 2
"""Alleles in a call."""


def is_vcf_store(path: Path) -> bool:
    """Return whether a folder is a VCF Zarr store, or a damaged one by its name."""
    return path.is_dir() and (path.suffix.lower() == ".vcz" or (is_store(path) and (path / NEEDED[0]).exists()))


def read_vcf_zarr(
    path: Path,
    *,
    max_memory: int | str | None = None,
    cache: PathLike | None = None,
    missing_chunks: str = "error",
    dtype: Any = np.float64,
    on_step: OnStep | None = None,
    **selected: Any,
) -> Table:
    """Return the calls of a VCF Zarr store: copies of the ALT allele, in 2 bits each; it needs zarr (``zarr``).

    Calls are read chunk by chunk and packed once; products are then those of a .bed file. A call of which an allele is
    missing, or masked by ``call_genotype_mask``, is missing; a haploid call counts twice. The phase is not used.
    Variants of more than two alleles are left out, and a warning counts them.

    Parameters
    ----------
    path : path
        The folder.
    max_memory : int or str
        Such as "500MB": what the packed calls may take in memory; more go to a cache file. None: 1 GiB.
    cache : path
        Folder of that file: as for .pgen files.
    missing_chunks : {"error", "fill"}
        What to do with chunks that are not stored: refuse the store, which may have lost them, or read them as the fill
        value. A chunk of the mask that is not stored hides no call, and one of contigs is the first contig if the
        variants are then in order: vcf2zarr leaves out chunks of zeros.
    dtype : data-type
        Of the products: float64, or float32, a little quicker.
    on_step : callable
        Called with a Step of stage "compile" before and after kernels are compiled, the first time on a machine.
    chromosomes, min_frequency, max_missing, uncalled, samples, snps, exclude
        Which variants and people to use: as for .bed files. A variant without an id is named by contig, position and
        alleles: "1:1000:A:G".
    """
    selection = checked_selection(dtype, **selected)
    check_choice("missing_chunks", missing_chunks, MISSING_CHUNKS)
    limit = memory_size(max_memory)
    root = opened_store(path, "VCF Zarr", "genetics,zarr")
    arrays = _arrays(root, path, missing_chunks, limit)
    people = _people(arrays, path)
    table, n_alleles = _variants(arrays, path, missing_chunks)
    calls, masked = arrays["call_genotype"], arrays.get("call_genotype_mask")

    def opened(rows: list[Array], chosen: Array | None) -> PackedOperator:
        compile_kernels(dtype, on_step)
        folder = None if cache is None else Path(cache)
        packed = _packed(calls, masked, rows[0], limit, folder, path)
        return PackedOperator([Part(packed, np.arange(len(packed)))], calls.shape[1], chosen, dtype=dtype)

    left_out = int(np.sum(n_alleles > PLOIDY))
    note = (
        f"{left_out} of the {len(n_alleles)} variants have more than two alleles and are left out; split them first "
        "with bcftools norm -m -."
    )
    usable, notes = [n_alleles <= PLOIDY], [note] if left_out else []
    return genotype_table([path], people, [table], selection, opened, usable=usable, notes=notes)


def _arrays(root: Any, path: Path, missing_chunks: str, limit: int) -> dict[str, Any]:
    """Return the arrays that are used, after a look at each."""
    found = {}
    for name in (*NEEDED, "call_genotype_mask", "variant_id"):
        if not (path / name).is_dir():
            if name in NEEDED:
                raise RefusedFile(f"{path} is not a VCF Zarr store, or it is damaged: it has no {name}.")
            continue
        try:
            array = root[name]
            shape, kind = tuple(array.shape), array.dtype.kind
        except Exception as error:  # metadata that is no JSON, or contradicts itself
            raise RefusedFile(f"{path} is damaged: {name} cannot be opened.") from error
        text = name in ("contig_id", "sample_id", "variant_allele", "variant_id")
        dimensions = {"call_genotype": 3, "call_genotype_mask": 3, "variant_allele": 2}.get(name, 1)
        if len(shape) != dimensions or (kind in "biu") == text:
            raise RefusedFile(f"{path} is damaged: {name} has shape {shape} and type {shown(array.dtype)}.")
        check_array(array, path, "fill" if name in LEFT_OUT else missing_chunks)
        found[name] = array
    calls = found["call_genotype"]
    check_chunks_fit(calls, limit, str(path))
    if calls.shape[2] != PLOIDY:
        raise RefusedFile(f"{path}: call_genotype has {calls.shape[2]} alleles in a call; {PLOIDY} are read.")
    if "call_genotype_mask" in found and found["call_genotype_mask"].shape != calls.shape:
        shape = found["call_genotype_mask"].shape
        raise RefusedFile(f"{path} is damaged: call_genotype has shape {calls.shape}, its mask {shape}.")
    for name, side in (("sample_id", 1), ("variant_allele", 0), ("variant_contig", 0), ("variant_position", 0),
                       ("variant_id", 0)):  # fmt: skip
        if name in found and found[name].shape[0] != calls.shape[side]:
            raise RefusedFile(
                f"{path} is damaged: call_genotype has {calls.shape[side]} {('variants', 'samples')[side]}, and {name} "
                f"has {found[name].shape[0]} entries."
            )
    for name, array in found.items():
        if not name.startswith("call_"):  # these are read in blocks
            check_fits(array, path)
    return found


def _people(arrays: dict[str, Any], path: Path) -> dict[str, Array]:
    iid = _texts(arrays["sample_id"], path)
    check_distinct(path, iid, "sample", "give each a name of its own")
    return {"fid": np.full(len(iid), "0"), "iid": iid}


def _variants(arrays: dict[str, Any], path: Path, missing_chunks: str) -> tuple[dict[str, Array], Array]:
    """Return what describes the variants, and the number of alleles of each."""
    contigs = _texts(arrays["contig_id"], path)
    contig = read_slice(arrays["variant_contig"], slice(None), str(path))
    position = read_slice(arrays["variant_position"], slice(None), str(path)).astype(np.int64)
    alleles = _texts(arrays["variant_allele"], path)
    if len(contig) and (contig.min() < 0 or contig.max() >= len(contigs)):
        raise RefusedFile(f"{path} is damaged: variant_contig has numbers beyond its {len(contigs)} contigs.")
    if missing_chunks == "error" and not _in_order(contig, position):
        check_array(arrays["variant_contig"], path)
    if alleles.shape[1] < PLOIDY:
        raise RefusedFile(f"{path}: variant_allele has {alleles.shape[1]} column(s); REF and ALT are needed.")
    chromosome = contigs[contig.astype(np.intp)]
    names = _texts(arrays["variant_id"], path) if "variant_id" in arrays else np.full(len(contig), "")
    nameless = np.flatnonzero((names == "") | (names == "."))
    if len(nameless):
        made = [f"{chromosome[j]}:{position[j]}:{alleles[j, 0]}:{alleles[j, 1]}" for j in nameless]
        names = names.astype(np.promote_types(names.dtype, np.array(made).dtype))
        names[nameless] = made
    table = {
        "snp": names,
        "chromosome": chromosome,
        "position": position,
        "allele_1": np.where(alleles[:, 1] == "", ".", alleles[:, 1]),
        "allele_2": alleles[:, 0],
    }
    return table, np.sum(alleles != "", axis=1)


def _in_order(contig: Array, position: Array) -> bool:
    """Return whether variants go by contig and position: they do not if a lost chunk became the first contig."""
    later, same = contig[1:] > contig[:-1], contig[1:] == contig[:-1]
    return bool(np.all(later | (same & (position[1:] >= position[:-1]))))


def _texts(array: Any, path: Path) -> Array:
    """Return text of a store as NumPy strings, of whatever kind it is stored in."""
    values = read_slice(array, slice(None), str(path))
    flat = values.ravel()
    parts = [
        np.array([text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in flat[part]])
        for part in chunks(len(flat), 1, TEXTS_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, dtype="U1"), *parts]).reshape(values.shape)


def _packed(calls: Any, masked: Any, variants: Array, limit: int, cache: Path | None, path: Path) -> Array:
    """Return the calls of some variants as rows of a .bed, unpacked tile by tile along the chunks of the store."""
    n_people = int(calls.shape[1])
    rows = room_for_rows(len(variants), n_people, limit, cache, str(path))
    across = int(calls.chunks[1]) * (4 // gcd(4, int(calls.chunks[1])))  # four people share a byte
    across = min(across, n_people)
    down = max(1, min(int(calls.chunks[0]), TILE_BYTES // (PLOIDY * across)))
    written = 0
    for start in range(0, int(calls.shape[0]), down):
        first, last = np.searchsorted(variants, [start, start + down])
        if first == last:
            continue
        wanted = variants[first:last] - start
        for person in range(0, n_people, across):
            part = (slice(start, min(start + down, int(calls.shape[0]))), slice(person, min(person + across, n_people)))
            tile = read_slice(calls, part, str(path))[wanted]
            hidden = None if masked is None else read_slice(masked, part, str(path))[wanted]
            places = slice(person // 4, (min(person + across, n_people) + 3) // 4)
            rows[first:last, places] = pack_calls(_counts(tile, hidden, path))
        written = let_go_of_many(rows, written + int(last - first) * rows.shape[1])
    return rows


def _counts(tile: Array, hidden: Array | None, path: Path) -> Array:
    """Return copies of the ALT allele, variants by people in int8, -9 where a call is missing."""
    one, two = tile[..., 0], tile[..., 1]
    if tile.size and (tile.min() < FILL or tile.max() > 1):
        raise RefusedFile(f"{path} is damaged: call_genotype has alleles that its variants do not have.")
    haploid = (two == FILL) & (one >= 0)
    missing = (one < 0) | (two == MISSING)
    if hidden is not None:
        missing |= ((hidden != 0) & (tile >= 0)).any(axis=-1)
    counts = np.where(haploid, 2 * one, one + two).astype(np.int8)
    counts[missing] = -9
    return counts
