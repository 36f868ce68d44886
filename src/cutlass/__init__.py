# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`import cutlass` means OpenCuTe: ``cutlass.x`` is the very module ``opencute.x``.

If the vendor's package of this name is installed too, it is loaded instead, unless
OPENCUTE_ALIAS=1.
"""

from opencute.base.alias import install as _install

_install(__name__, __file__)
