# SPDX-License-Identifier: Apache-2.0
"""The notebooks of ``docs/`` run unchanged, and show the outputs of their cells."""

import pytest

from tests import notebooks


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_true(path, tmp_path):
    """Every cell runs after those before it, with the output of the notebook."""
    shown = notebooks.outputs(notebooks.read(path))
    again = notebooks.outputs(notebooks.executed(path, tmp_path))

    assert again == shown
    assert any("picture" in cell for cell in shown)
    assert any("<table>" in str(output) for cell in shown for output in cell)


def test_there_is_a_notebook():
    """At least one notebook is found."""
    assert [path.name for path in notebooks.NOTEBOOKS] == ["notebook.ipynb"]
