"""The connection to a Dask cluster: the client of the user, a client for an address, and what its loss means."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from rspca.base.arguments import argument

CONNECT_SECONDS = 5
"""Seconds to wait for a scheduler before an error."""


def current_client() -> Any:
    """Return the client that the user has connected, or None."""
    try:
        import distributed
    except ImportError:
        return None
    try:
        client = distributed.get_client()
    except ValueError:
        return None
    return connected(client)


def connected(client: Any) -> Any:
    """Return a connected client, given a client or the address of a scheduler; raise if it does not answer."""
    try:
        import distributed
    except ImportError as error:  # pragma: no cover - the development environment has it
        raise ImportError("A cluster needs Dask, which is not installed: pip install 'rspca[cluster]'.") from error
    if isinstance(client, str):
        try:
            connect: Any = distributed.Client
            client = connect(client, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(
                f"No scheduler answers at {client!r}; start one, or leave out {argument('client')}."
            ) from error
    status = getattr(client, "status", "not connected")
    if status != "running":
        raise ConnectionError(f"The Dask client is {status}; connect it to a scheduler.")
    if not client.nthreads():  # scheduler_info() may lack them for a moment
        raise ConnectionError(f"The Dask scheduler has no workers; start some, or leave out {argument('client')}.")
    return client


@contextmanager
def losses_reported(client: Any) -> Iterator[None]:
    """Raise ConnectionError if the scheduler or all of its workers are lost; Dask waits half a minute for a scheduler.

    The loss of a single worker is not an error: its blocks are made again.
    """
    from distributed.client import ClosedClientError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise ConnectionError(
            f"The Dask scheduler{_address(client)} was lost during the fit, and with it the blocks of X. "
            "Restart it and its workers, then the fit."
        ) from error
    except KilledWorker as error:
        raise ConnectionError(
            "Several Dask workers died while working on the same block of X, probably because memory ran out. Give "
            "them more memory or fewer threads."
        ) from error


def _address(client: Any) -> str:
    address = getattr(getattr(client, "scheduler", None), "address", None)
    return f" at {address}" if address else ""
