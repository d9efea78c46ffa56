# SPDX-License-Identifier: Apache-2.0
"""The checklist of ``kgbench publish --check``: checking a publication and printing the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kgbench.cli import messages
from kgbench.cli.interruption import end_after

if TYPE_CHECKING:
    from kgbench.publish.checks import Report


def check_publication(
    paths: Sequence[Path],
    shapes: Path | None,
    unprotected: Sequence[str],
    keys: Sequence[str] = (),
    *,
    max_megabytes: int,
    seconds: float,
) -> Report:
    """Check a published folder, or some of its files.

    ``keys`` are public keys, their files or files of lists; one of them must have signed. Encrypted
    dumps are opened with the password in ``KGBENCH_PUBLISH_PASSWORD``, if set.
    """
    end_after(seconds)
    from kgbench.publish.checks import check
    from kgbench.publish.settings import PASSWORD
    from kgbench.signing.key_list import KeyList

    given = KeyList.given(keys)
    password = os.environ.get(PASSWORD) or None
    return check(
        *paths,
        password=password,
        mldcat_shapes=shapes,
        unprotected=unprotected,
        keys=given.usable,
        revoked=given.revoked,
        max_bytes=max_megabytes << 20,
    )


def print_report(report: Report, *, json_: bool) -> None:
    """Print a checklist; exit with code 1 if there are faults."""
    from kgbench.characters import one_line  # names and texts may contain control characters

    messages.report(report.as_json(), map(one_line, report.lines()), json_=json_)
    if not report.passed:
        raise typer.Exit(1)
