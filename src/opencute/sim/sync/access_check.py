# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One access in the checking mode: compared with those before it, and remembered.

In: a `Checker`, which knows who has synchronised with whom, and what some lanes read or write. Out:
an error that names both lines, if nothing orders the two; the shadow with this access in it.
"""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from opencute.sim.sync.checks.native import NativeLoops

__all__ = ["AccessCheck"]


class AccessCheck(NativeLoops):
    """One access, compared with those before; its steps are in `checks`."""

    def run(self) -> None:
        """Check, then remember."""
        if self.offsets.size == 0 or (self.mask is not None and not self.mask.any()):
            return
        if self.away is None and self._walked():
            return
        shared = self.shadow.columns > 0
        self._against_writers()
        if self.verb == "read":
            self._remember_readers_of_shared() if shared else self._remember_readers()
            return
        self._against_readers_of_shared() if shared else self._against_readers()
        if self.shadow.extra:
            self._against_extra()
        self._remember_writers()

    def read_unwritten(self) -> bool:
        """Remember a read of global memory, if nobody has written there; tells whether."""
        if self.pieces.size:
            if self.shadow.has_writers and self._words(self.shadow.writer).any():
                return False
            self._remember_readers()
        return True
