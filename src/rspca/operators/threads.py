"""Who may use the cores: products that bring threads of their own, or BLAS, not both at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rspca.operators.protocol import OperatorMixin


@contextmanager
def threads_for(op: OperatorMixin) -> Iterator[None]:
    """Leave the cores to the kernels of `op`, if it has any: BLAS threads spin for a while after every small call."""
    if not op.own_threads:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
