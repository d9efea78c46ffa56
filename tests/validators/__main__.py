# SPDX-License-Identifier: Apache-2.0
"""``KGBENCH_EXTERNAL_DATA=... python -m tests.validators`` updates the table of results."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.validators import artefacts, table


def main() -> None:
    """Publish both stores, run all validators, and write ``docs/publish.md``."""
    data = Path(os.environ["KGBENCH_EXTERNAL_DATA"]).resolve()
    with tempfile.TemporaryDirectory(prefix="kgbench-validation-") as folder:
        first, second = Path(folder) / "quick-start", Path(folder) / "published-models"
        first.mkdir()
        second.mkdir()
        found = table.rows(
            table.results(artefacts.quick_start(first)),
            table.results(artefacts.published_models(second, data)),
        )
    page = table.PAGE.read_text(encoding="utf-8")
    table.PAGE.write_text(table.written(page, found), encoding="utf-8")


if __name__ == "__main__":
    main()
