# SPDX-License-Identifier: Apache-2.0
"""Checking a publication and printing the checklist, for ``kgbench publish --check``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kgbench.publish.checks import Report


def checked(
    paths: Sequence[Path],
    shapes: Path | None,
    unprotected: Sequence[str],
    disclosed: Path | None = None,
    keys: Sequence[str] = (),
) -> Report:
    """The checklist of a published folder, or of files of one, and of a disclosure where given.

    ``keys`` are public keys or files of them, of which one must vouch for the signatures.
    Encrypted dumps are opened with the password in ``KGBENCH_PUBLISH_PASSWORD``, if it is set.
    """
    from kgbench.publish.checks import check
    from kgbench.publish.settings import PASSWORD
    from kgbench.signing.keys import public_key

    password = os.environ.get(PASSWORD) or None
    return check(
        *paths,
        password=password,
        mldcat_shapes=shapes,
        unprotected=unprotected,
        disclosed=disclosed,
        keys=[public_key(key) for key in keys],
    )


def show(report: Report, *, json_: bool) -> None:
    """Print a checklist; exit code 1 where there are faults."""
    if json_:
        typer.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        from kgbench.characters import visible  # what is checked may hold anything

        for line in report.lines():
            typer.echo(visible(line))
    if not report.passed:
        raise typer.Exit(1)
