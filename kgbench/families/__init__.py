# SPDX-License-Identifier: Apache-2.0
"""Task families: what the folders of ``tasks`` with a ``judge.py`` share, and where they are found.

The module of the family ``NAME`` is ``kgbench.families.NAME.judge``, in a checkout and where
kgbench is installed.
"""

from __future__ import annotations

from kgbench import resources

__path__.extend(map(str, resources.folders("tasks")))
