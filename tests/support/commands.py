# SPDX-License-Identifier: Apache-2.0
"""Commands of kgbench run in the test's process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from typer.testing import CliRunner, Result

from kgbench.cli import app


def kgbench(*words: object, code: int | None = 0, **options: Any) -> Result:
    """Return the result of a command that exits with ``code``; with ``None``, with any."""
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert code in (None, done.exit_code), (done.output, done.exception)
    return done


def printed(*words: object, env: Mapping[str, str] | None = None, code: int = 0) -> str:
    """Return the standard output of a command that exits with ``code``; exceptions propagate."""
    result = CliRunner().invoke(app, [str(word) for word in words], env=env, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def reported(*words: object) -> dict[str, Any]:
    """Return the JSON output of a command."""
    found: dict[str, Any] = json.loads(printed(*words, "--json"))
    return found
