# SPDX-License-Identifier: Apache-2.0
"""Local paths after encoded signs in specs of models are removed, and found by the check."""

from __future__ import annotations

import pytest

from kgbench.publish.checks import privacy
from kgbench.publish.scrubbing import Scrubber


@pytest.mark.parametrize("sign", ["%20", "%3D", "%3d"])
def test_paths_after_encoded_signs(sign: str) -> None:
    """The space in a command of a spec is encoded, so the path follows a digit or letter."""
    spec = f"openai:gpt-5.2?mcp=python{sign}/home/ann/server.py"
    scrubbed = Scrubber().text(spec)
    assert scrubbed == f"openai:gpt-5.2?mcp=python{sign}[path]"
    assert any(place.find(spec) for place in privacy._PLACES)
    assert not any(place.find(scrubbed) for place in privacy._PLACES)


def test_words_around_slashes_remain() -> None:
    """A slash after an ordinary word starts no path."""
    assert Scrubber().text("openai/gpt/oss of meta/home/page") == "openai/gpt/oss of meta/home/page"
