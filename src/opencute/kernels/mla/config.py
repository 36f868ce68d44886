# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How attention with a latent cache is shared: the choices, a good one, and all that are worth
trying.

In: what is known of a call. Out: a frozen configuration::

    heuristic(128, 8192, 8, 132)  # MlaConfig(stages=3, splits=8, cluster=2)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opencute.base.errors import ArgumentError
from opencute.kernels.checked import typed_fields
from opencute.kernels.decode.config import good_splits

__all__ = ["KEYS", "LATENT", "ROPE", "ROWS", "MlaConfig", "heuristic", "search_space"]

LATENT, ROPE = 512, 64  # elements of what is a value too, and of what only keys have
ROWS, KEYS = 64, 64  # of a block, and of a tile
START = 192  # what a block's start costs, in keys


@dataclass(frozen=True)
class MlaConfig:
    """Choices of attention with a latent cache.

    Args:
        stages: tiles in shared memory, 2 or 3.
        splits: blocks that share the keys of a sequence.
        cluster: blocks with the same keys and other rows that share what they load: 1 or 2.
    """

    stages: int
    splits: int
    cluster: int = 1

    def check(self, rows: int) -> MlaConfig:
        """The configuration itself, if it is possible.

        Args:
            rows: queries times heads.

        Raises:
            ArgumentError: it is not.
        """
        typed_fields(self, "OC2566")
        good = self.stages in (2, 3) and 1 <= self.splits <= 1024 and self.cluster in (1, 2)
        if not good or -(-rows // ROWS) % self.cluster:
            raise ArgumentError(
                "attention with a latent cache cannot be shared like this", code="OC2566",
                expected="2 or 3 stages, 1 to 1024 splits, and a cluster of 1 block, or of 2 that "
                f"divides the blocks of {rows} rows", found=self,
            )  # fmt: skip
        return self


def heuristic(rows: int, keys: int, batches: int, processors: int) -> MlaConfig:
    """A good choice.

    Args:
        rows: queries times heads.
        keys: room for keys of a sequence.
        batches: sequences.
        processors: multiprocessors of the device; each has one block.
    """
    blocks = batches * -(-rows // ROWS)
    splits = good_splits(blocks, keys, 2 * KEYS, processors, start=START)
    return MlaConfig(3, splits, 1 if -(-rows // ROWS) % 2 else 2)


def search_space(rows: int, keys: int, batches: int, processors: int) -> Iterator[MlaConfig]:
    """All choices that are worth trying, promising ones first."""
    best = heuristic(rows, keys, batches, processors)
    most = max(1, -(-keys // KEYS))
    near = (best.splits, 1, best.splits + 1, best.splits - 1, 2 * best.splits, best.splits // 2)
    for cluster in dict.fromkeys((best.cluster, 1)):
        for stages in (3, 2):
            for splits in dict.fromkeys(min(max(s, 1), most) for s in near):
                yield MlaConfig(stages, splits, cluster)
