# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The order in which clusters of tiles are worked on.

In: how many tiles there are, the cluster, the order. Out: for each number the coordinate of a
cluster. Each cluster has exactly one number, whatever the swizzle::

    params = PersistentTileSchedulerParams((6, 4, 1), (2, 1, 1), swizzle_size=2)
    [params.cluster_coord(i)[:2] for i in range(4)]       # (0,0) (0,1) (1,0) (1,1)

Without a swizzle, clusters along M (or N) follow each other. With one, `swizzle_size` neighbours
along the other mode do, then their neighbours along M: a band that finds its operands in the cache.
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from typing import Any

from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.lang.mathfns import max as max_
from opencute.lang.mathfns import min as min_
from opencute.lang.numbers import Int32
from opencute.lang.values.fast_divmod import FastDivmodDivisor

__all__ = ["PersistentTileSchedulerParams", "divided"]


def divided(n: Any, divisor: Any) -> tuple[Any, Any]:
    """Quotient and remainder; dividing by 1 costs nothing."""
    if isinstance(divisor, int):
        return (n, 0) if divisor == 1 else (n // divisor, n % divisor)
    return divmod(n, divisor)


def _divisor(n: Any) -> Any:
    """What to divide by `n` with: itself, or what makes it cheap if it is known at run time only.
    An extent of 0 has no tiles, so that nothing is divided by it."""
    known = _known(n)
    return max(known, 1) if known is not None else FastDivmodDivisor(max_(Int32(n), 1))


def _known(n: Any) -> int | None:
    if isinstance(n, int):
        return int(n)
    return None if n.is_dynamic else int(n.value)


class PersistentTileSchedulerParams:
    """How many tiles there are, and in which order clusters of blocks take them.

    Args:
        problem_shape_ntile_mnl: tiles along M, N and L (the batch); may be run-time values.
        cluster_shape_mnk: blocks of a cluster along M and N; K is 1.
        swizzle_size: width of the bands, in clusters.
        raster_along_m: whether the clusters of a band follow each other along M, else along N.

    Raises:
        ArgumentError: a cluster or swizzle that there cannot be.

    Example:
        >>> from cutlass import utils
        >>> params = utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1))
        >>> utils.StaticPersistentTileScheduler.get_grid_shape(params, 8)
        (1, 1, 8)
    """

    def __init__(
        self,
        problem_shape_ntile_mnl: Any,
        cluster_shape_mnk: Any,
        swizzle_size: int = 1,
        raster_along_m: bool = True,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> None:
        tiles = tuple(_flat(problem_shape_ntile_mnl))
        cluster = tuple(cluster_shape_mnk)
        if len(tiles) != 3:
            raise ArgumentError(
                "tiles are counted along M, N and L", code="OC2180", found=problem_shape_ntile_mnl
            )
        if len(cluster) not in (2, 3) or any(not isinstance(c, int) or c < 1 for c in cluster):
            raise ArgumentError(
                "a cluster's shape is of positive ints", code="OC2180", found=cluster_shape_mnk
            )
        if len(cluster) == 3 and cluster[2] != 1:
            raise ArgumentError(
                "a cluster of a persistent scheduler extends along M and N only", code="OC2180",
                expected="K of 1", found=cluster_shape_mnk,
            )  # fmt: skip
        if not isinstance(swizzle_size, int) or swizzle_size < 1:
            raise ArgumentError(
                "swizzle_size is a positive number of clusters", code="OC2180", found=swizzle_size
            )
        self.problem_shape_ntile_mnl = tiles
        self.cluster_shape_mnk = (*cluster[:2], 1)
        self.cluster_shape_mn = cluster[:2]
        self.swizzle_size = swizzle_size
        self.raster_along_m = bool(raster_along_m)
        self.problem_shape_ncluster_mnl = tuple(
            -(-_known(n) // c) if _known(n) is not None else cute.ceil_div(n, c)  # type: ignore[operator]
            for n, c in zip(tiles, self.cluster_shape_mnk, strict=True)
        )
        fast, slow, _ = self._ordered()
        self._fast = _divisor(fast)
        self._plane = _divisor(fast * slow)
        self._band = _divisor(fast * swizzle_size) if swizzle_size > 1 else 1

    def _ordered(self) -> tuple[Any, Any, Any]:
        """Clusters along the mode that numbers follow first, along the other, and along L."""
        m, n, batches = self.problem_shape_ncluster_mnl
        return (m, n, batches) if self.raster_along_m else (n, m, batches)

    @property
    def num_clusters(self) -> Any:
        """How many clusters of tiles there are."""
        fast, slow, batches = self._ordered()
        return fast * slow * batches

    def cluster_coord(self, number: Any) -> tuple[Any, Any, Any]:
        """The coordinate (m, n, l) of the cluster with a number.

        Law: ``range(num_clusters)`` and the coordinates are one to one.
        """
        _, slow, batches = self._ordered()
        batch: Any = 0
        if _known(batches) != 1:
            batch, number = divided(number, self._plane)
        if self.swizzle_size == 1:
            j, i = divided(number, self._fast)
        else:
            band, inside = divided(number, self._band)
            start = band * self.swizzle_size
            width: Any = self.swizzle_size
            if not isinstance(slow, int) or slow % self.swizzle_size:
                width = min_(Int32(slow - start), self.swizzle_size)  # the last band is narrower
                width = max_(width, 1)  # past the last cluster there is none
            i, j = divided(inside, width) if isinstance(width, int) else _by(inside, width)
            j = start + j
        return (i, j, batch) if self.raster_along_m else (j, i, batch)


def _by(n: Any, divisor: Any) -> tuple[Any, Any]:
    quotient = n // divisor
    return quotient, n - quotient * divisor


def _flat(shape: Any) -> Any:
    """The extents of a shape; a mode that has parts counts as one."""
    return (cute.size(s) if isinstance(s, tuple) else s for s in shape)
