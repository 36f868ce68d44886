# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Threads and hardware units that hand buffers to each other.

agents         who takes part: groups of threads, and what they do
states         where in a ring of buffers someone is
barriers       rows of mbarriers, their beginning, block- and cluster-wide meeting
base           producer and consumer threads: what all pipelines share
copies         producers that copy: cp.async, TMA
tma_store      stores by TMA from a ring of buffers
order          groups that take turns
participants   a producer's and a consumer's side, with handles of the buffers that they hold

A pipeline has two barriers for each buffer: *full*, where the producer arrives, and *empty*, where
the consumer does. A state holds the buffer's index and the parity of the phase to wait for; that of
a producer begins with 1, so that it takes each buffer once without waiting.
"""

from __future__ import annotations

__all__: list[str] = []
