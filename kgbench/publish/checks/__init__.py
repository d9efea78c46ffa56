# SPDX-License-Identifier: Apache-2.0
"""Checking what was published: a checklist of a folder, or of single files of one.

:func:`check` reads the files alone, never the store that they were made from, and changes nothing.
"""

from kgbench.publish.checks.checking import check
from kgbench.publish.checks.report import Entry, Fault, Report, Verdict

__all__ = ["Entry", "Fault", "Report", "Verdict", "check"]
