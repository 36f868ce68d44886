# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compiling on the machines of a ray cluster; the extra ``ray`` installs it.

In: the address of a cluster. Out: a maker of workers for `compile_many`::

    with Cluster("ray://head:10001") as cluster:
        compile_many(items, processes=cluster.processors, worker=cluster.worker)

A machine gets a module as text and gives the machine code back; it needs OpenCuTe and a ptxas, and
no GPU. Ray is imported when an address is given, and only here.
"""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any

from opencute.base.errors import MissingPieceError
from opencute.compiler.artefacts import Artefacts
from opencute.jit.pool import blobs_of, message
from opencute.jit.worker import answer

__all__ = ["Cluster"]


class Cluster:
    """A connection to a cluster.

    Args:
        address: as ``ray.init`` takes it, such as ``auto`` or ``ray://head:10001``.

    Raises:
        MissingPieceError: ray is not installed.
    """

    def __init__(self, address: str) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError as e:
            raise MissingPieceError(
                "ray is not installed, so nothing can be compiled on a cluster",
                code="OC5012",
                hint="pip install 'opencute[ray]', here and on the cluster's machines",
            ) from e
        self._mine = not self._ray.is_initialized()
        if self._mine:
            self._ray.init(address=address, log_to_driver=False)
        self._task: Any = self._ray.remote(answer)

    @property
    def processors(self) -> int:
        """Processors of the cluster: as many modules can be compiled at once."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def worker(self) -> _Remote:
        """A worker for one thread."""
        return _Remote(self._ray, self._task)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._mine:
            self._ray.shutdown()


class _Remote:
    """Sends one module after the other to whichever machine is free."""

    def __init__(self, ray: Any, task: Any) -> None:
        self._ray = ray
        self._task = task

    def compile(self, artefacts: Artefacts) -> dict[str, bytes]:
        """Have a module compiled; raises what the compiler says about it."""
        return blobs_of(self._ray.get(self._task.remote(*message(artefacts))))

    def close(self) -> None:
        """Nothing is kept."""
