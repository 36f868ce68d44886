# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.utils.hardware_info`: what persistent kernels ask about the device."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"HardwareInfo": "opencute.lib.hardware_info"})
