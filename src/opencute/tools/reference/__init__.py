# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of public names: pages of Markdown, and what `opencute help NAME` prints.

In: the tables of the public modules, signatures and docstrings. Out: ``docs/reference/api``, which
a test keeps fresh::

    python -m opencute.tools.reference        # writes the pages
"""

from __future__ import annotations

from opencute.tools.reference.lookup import described
from opencute.tools.reference.pages import FOLDER, pages, write

__all__ = ["FOLDER", "described", "pages", "write"]
