# SPDX-License-Identifier: Apache-2.0
"""``kgbench invalidate``: exclude results from all analyses, with author, time and reason."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from kgbench.cli import completion, options
from kgbench.cli.messages import count, report


def invalidate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN|DIALOGUE",
            help="A run's id, IRI or label, or a dialogue's IRI.",
            autocompletion=completion.runs,
        ),
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why the results must not count.")],
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your name. Default: the login name.")
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Invalidate the results of a run or a dialogue.

    The results stay recorded, but no analysis counts them. `kgbench run --redo-invalidated` runs
    the dialogues again.
    """
    from kgbench.record import invalidation
    from kgbench.store import open_existing

    with open_existing(store) as opened:
        result = invalidation.invalidate(
            opened, name, reason, by or getpass.getuser(), person=by is not None
        )
    left_out = f"{count(result.dialogues, 'dialogue')} with {result.results:,} answers"
    lines = (f"invalidated {left_out} and evaluations", f"recorded as {result.iri}")
    report(result._asdict(), lines, json_=json_)
