# SPDX-License-Identifier: Apache-2.0
"""Commands of kgbench in the process of a test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from typer.testing import CliRunner

from kgbench.cli import app


def printed(*words: object, env: Mapping[str, str] | None = None, code: int = 0) -> str:
    """What a command that ends with ``code`` prints on standard output; its errors are raised."""
    result = CliRunner().invoke(app, [str(word) for word in words], env=env, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def reported(*words: object) -> dict[str, Any]:
    """What a command reports as JSON."""
    found: dict[str, Any] = json.loads(printed(*words, "--json"))
    return found
