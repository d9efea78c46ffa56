# SPDX-License-Identifier: Apache-2.0
"""Shared parts of export commands: selecting a run, writing a document, reporting."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import completion, messages, options
from kgbench.cli.option_groups import Group

if TYPE_CHECKING:
    from kgbench.exports.outgoing_run import ExportRequest, OutgoingRun
    from kgbench.publish.description import Agent

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: the newest that is not of judges.",
        autocompletion=completion.runs,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="The file to write. Default: standard output."
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write; it must not exist."),
]
_DIALOGUE = re.compile(r"/run/[^/]+/[^/]+/[^/]+/[0-9]+-w?[0-9a-f]+(?:\.[0-9]+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Group):
    """Options that select the store, the evaluation pass, and what to leave out."""

    store: options.Store = None
    pass_: options.Pass = options.FIRST
    redact: Annotated[
        options.Redact,
        typer.Option(
            help="What to leave out: nothing (none), reference answers (gold), also prompts, or "
            "also answers."
        ),
    ] = options.Redact.GOLD
    unprotected: options.Unprotected = None

    def read(self, run: str | None) -> OutgoingRun:
        """Read a run, or one of its dialogues, redacted as the options say."""
        return read(run_selection(run, self.pass_, self.redact, self.unprotected), self.store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit(Group):
    """Options that name the creators of the results and their licence."""

    licence: Annotated[
        str,
        typer.Option(
            "--licence",
            "--license",
            metavar="SPDX",
            help="The licence: an SPDX identifier or an IRI.",
        ),
    ]
    creator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A creator of the results, as 'Name' or 'Name <IRI>'; repeatable."
        ),
    ] = None

    def licence_iri(self) -> str:
        """Return the IRI of the licence."""
        from kgbench.publish.description import licence

        return licence(self.licence)

    def agents(self) -> tuple[Agent, ...]:
        """Return the creators of the results."""
        from kgbench.publish.description import agent

        return tuple(map(agent, self.creator or ()))


def require_packages(*packages: str, extra: str = "publish") -> None:
    """Raise :class:`~kgbench.errors.ResourceError` if a package of an extra is not installed."""
    from importlib.util import find_spec

    from kgbench.errors import ResourceError, pip_install

    for name in packages:
        if find_spec(name) is None:
            raise ResourceError(f"{name} is not installed: {pip_install(f'kgbench[{extra}]')}")


def run_selection(
    run: str | None, pass_: str, redact: options.Redact | None, unprotected: list[str] | None
) -> ExportRequest:
    """Return the selection of an export command: a run or one dialogue, and the redaction level."""
    from kgbench.exports.outgoing_run import ExportRequest
    from kgbench.publish.redaction import RedactionLevel

    dialogue = run if run is not None and _DIALOGUE.search(run) else None
    level = None if redact is None else RedactionLevel[redact.name]
    return ExportRequest(run, pass_, level, frozenset(unprotected or ()), dialogue)


def read(wanted: ExportRequest, store: str | None) -> OutgoingRun:
    """Read the selected run from a store, redacted."""
    from kgbench.exports.outgoing_run import read
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        return read(opened, wanted)


def check_destination(out: Path | None, *, json_: bool) -> None:
    """Refuse a JSON report on standard output that would end up in the exported document."""
    if json_ and out is None:
        raise typer.BadParameter(
            "it needs --out, because the document goes to standard output", param_hint="--json"
        )


def indented_json(value: Any) -> bytes:
    """Return ``value`` as indented JSON in ASCII, with a newline at the end."""
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def write(content: bytes, out: Path | None) -> None:
    """Write a document atomically to a file, or to standard output."""
    if out is None:
        typer.echo(content, nl=False)
        return
    from kgbench import files

    files.write(out, content)


def report(out: Path | None, counts: dict[str, Any], *, json_: bool) -> None:
    """Print what was written to a file; nothing if the document went to standard output."""
    if out is None:
        return
    parts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
    messages.report({"file": str(out), **counts}, [f"{out}  {parts}"], json_=json_)
