# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions as object files, and back.

`parameters` describes arguments as data; `header` and `text` write the C header and the object's
LLVM IR; `writing` is ``export_to_c``; `loading` is ``cute.runtime.load_module``.
"""
