# SPDX-License-Identifier: Apache-2.0
"""The results for the examples of ``docs/python.md``, its notebook and the docstrings."""

from __future__ import annotations

from pathlib import Path

import kgbench
from tests import documented

PAGE = documented.page("python.md")
FILES = [step for step in documented.steps(PAGE) if isinstance(step, documented.File)]


def prepared(folder: Path) -> None:
    """Write the files of the page to ``folder``, with a store that contains its run."""
    for file in FILES:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    with kgbench.open(str(folder / "kgbench-results")) as results:
        assert results.run(folder / "small.yaml").finished
