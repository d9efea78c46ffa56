# SPDX-License-Identifier: Apache-2.0
"""Notebooks of ``docs/`` as a reader uses them: executed from top to bottom in an empty folder.

``python -m tests.notebooks`` writes their outputs anew.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.documented import DOCS, ROOT

NOTEBOOKS = sorted(DOCS.glob("*.ipynb"))
_PATIENCE = 300  # seconds for one cell


def read(path: Path) -> Any:
    """Return the notebook at ``path``."""
    return nbformat.read(path, as_version=4)


def executed(path: Path, folder: Path) -> Any:
    """Return the notebook after all its cells have run in ``folder``; raises if one fails."""
    notebook = read(path)
    own = {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / ".ipython")}
    client = NotebookClient(
        notebook, timeout=_PATIENCE, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env={**os.environ, **own})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    return notebook


def outputs(notebook: Any) -> list[list[Any]]:
    """Return the outputs of the code cells; each image is replaced by "picture"."""
    return [
        [_shown(output) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _shown(output: Any) -> Any:
    if output.output_type == "stream":
        return (output.name, output.text)
    data = output.data
    return "picture" if "image/png" in data else data.get("text/html", data["text/plain"])


def main() -> None:
    """Write the outputs of all notebooks anew."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)


if __name__ == "__main__":
    main()
