"""Packed genotypes on the workers of a Dask cluster."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rspca.base.types import Array
from rspca.operators.cluster import ClusterOperator
from rspca.operators.cluster_blocks import counted_calls
from rspca.operators.cluster_client import losses_reported
from rspca.operators.plink import Calls


class PackedCluster(ClusterOperator):
    """Packed genotypes on workers, each with its own range of SNPs."""

    @cached_property
    def calls(self) -> Calls:
        """Counts of missing calls, of one copy and of two copies, by SNP."""
        self._meter.add(self._share)
        with losses_reported(self.client):
            counted = self.client.gather(
                [self.client.submit(counted_calls, block, pure=False) for block in self.blocks]
            )
        return Calls(*(np.concatenate(column) for column in zip(*counted, strict=True)))

    @property
    def mean(self) -> Array:
        """Mean over observed calls of each SNP."""
        return self.calls.mean(self.shape[0])

    def rows_at(self, rows: Array) -> PackedCluster:
        """Return the operator of some people."""
        blocks = self._submit("rows_at", [(rows,)] * len(self.blocks))
        ends, shape = np.array([part.stop for part in self._slices]), (len(rows), self.shape[1])
        return PackedCluster(
            self.client, blocks, ends, self.axis, shape, self._dtype, meter=self._meter, share=self._share
        )

    def filled_for(self, weights: Array) -> ClusterOperator:
        """Return the same genotypes with missing calls filled by weighted means, unless other values were given."""
        return self._changed("filled_for", [(weights,)] * len(self.blocks))

    def with_missing_as(self, fill: Array) -> PackedCluster:
        """Return the same genotypes with these values for missing calls."""
        return self.filled_with(fill)

    def select(self, support: Array) -> ClusterOperator:
        """Return the operator of some SNPs, in increasing order, on the same files."""
        return self._fewer(np.asarray(support, dtype=np.intp), "select", 1.0)

    def filled_with(self, fill: Array) -> PackedCluster:
        """Return the same genotypes with other values for missing calls."""
        blocks = self._submit("filled_with", [(fill[part],) for part in self._slices])
        ends = np.array([part.stop for part in self._slices])
        filled = PackedCluster(
            self.client, blocks, ends, self.axis, self.shape, self._dtype, meter=self._meter, share=self._share
        )
        filled.calls = self.calls
        return filled
