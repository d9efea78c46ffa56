# SPDX-License-Identifier: Apache-2.0
"""The notebooks of ``docs/`` are done as they stand, and show what their cells give."""

import pytest

from tests import notebooks


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_true(path, tmp_path):
    """Every cell runs after those before it, and shows what the notebook shows."""
    shown = notebooks.outputs(notebooks.read(path))
    again = notebooks.outputs(notebooks.executed(path, tmp_path))

    assert again == shown
    assert any("picture" in cell for cell in shown)
    assert any("<table>" in str(output) for cell in shown for output in cell)


def test_there_is_a_notebook():
    """Where to look for notebooks is not mistaken."""
    assert [path.name for path in notebooks.NOTEBOOKS] == ["notebook.ipynb"]
