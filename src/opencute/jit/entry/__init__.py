# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that cost no Python: native code between Python's call and the compiled host function.

`words` says how Python and native code share memory, `tensors` and `arguments` are the native code
as LLVM IR, `code` compiles and loads it, `versions` describes compiled functions to it::

    entry = code.load()                   # once in a process
    version = versions.describe(...)      # one compiled function and the arguments it takes
"""
