# SPDX-License-Identifier: Apache-2.0
"""A model of random weights in a file, which the real engine loads in a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.servers import tiny_gguf


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the model, whose context is 8,192 tokens."""
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_gguf.write(str(path))
    return path
