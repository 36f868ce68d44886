# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rewrites of a function's syntax tree, one file each.

accepted       the table of accepted nodes; the rest is refused on its line
leaving        return, break and continue become flags and guards
conditionals   `if` becomes `__oc__.if_`
loops          `for` and `while` become `__oc__.for_` and `__oc__.while_`
expressions    conditional expressions, and/or/not, chained comparisons, builtins
compiled       puts them together and makes the new function
"""

from __future__ import annotations

from opencute.frontend.rewrite.compiled import rewritten

__all__ = ["rewritten"]
