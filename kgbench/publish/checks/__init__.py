# SPDX-License-Identifier: Apache-2.0
"""Checks of a publication: a checklist for a folder, or for single files of one.

:func:`check` reads only the published files, never the store, and changes nothing.
"""

from kgbench.publish.checks.checklist import check
from kgbench.publish.checks.report import Entry, Fault, Report, Verdict

__all__ = ["Entry", "Fault", "Report", "Verdict", "check"]
