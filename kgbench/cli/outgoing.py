# SPDX-License-Identifier: Apache-2.0
"""What exports have in common: which run goes out, where it is written, what is said of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.groups import Group

if TYPE_CHECKING:
    from kgbench.exports.outgoing_run import OutgoingRun, Wanted
    from kgbench.publish.about import Agent

_DIALOGUE = re.compile(r"/run/[^/]+/[^/]+/[^/]+/[0-9]+-w?[0-9a-f]+(?:\.[0-9]+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Group):
    """Options that say where a run is, which of its evaluations count, and what is left out."""

    store: options.Store = None
    choice: options.Pass = "first"
    redact: Annotated[
        options.Redact,
        typer.Option(
            "--redact", help="Leave out nothing, reference answers, also prompts, also answers."
        ),
    ] = options.Redact.GOLD
    unprotected: options.Unprotected = None

    def read(self, run: str | None) -> OutgoingRun:
        """The run, or one dialogue of it, as it may go out."""
        return read(wanted_run(run, self.choice, self.redact, self.unprotected), self.store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit(Group):
    """Options that say who made the results, and under which licence they are."""

    licence: Annotated[
        str,
        typer.Option(
            "--licence", "--license", metavar="SPDX", help="An SPDX identifier or an IRI; needed."
        ),
    ]
    creator: Annotated[
        list[str] | None,
        typer.Option(
            "--creator",
            metavar="NAME",
            help="Who made the results, as 'Name' or 'Name <IRI>'; repeatable.",
        ),
    ] = None

    def licence_iri(self) -> str:
        """The IRI of the licence."""
        from kgbench.publish.about import licence

        return licence(self.licence)

    def agents(self) -> tuple[Agent, ...]:
        """The makers of the results."""
        from kgbench.publish.about import agent

        return tuple(map(agent, self.creator or ()))


def needs(*packages: str, extra: str = "publish") -> None:
    """Raise in words where a package of an extra is not installed."""
    from importlib.util import find_spec

    from kgbench.errors import ResourceError

    for name in packages:
        if find_spec(name) is None:
            raise ResourceError(f"{name} is not installed: pip install 'kgbench[{extra}]'")


def wanted_run(
    run: str | None, choice: str, redact: options.Redact | None, unprotected: list[str] | None
) -> Wanted:
    """What a command exports: a run or one dialogue of it, and what is left out of it."""
    from kgbench.exports.outgoing_run import Wanted
    from kgbench.publish.withholding import Level

    dialogue = run if run is not None and _DIALOGUE.search(run) else None
    level = None if redact is None else Level[redact.name]
    return Wanted(run, choice, level, frozenset(unprotected or ()), dialogue)


def read(wanted: Wanted, store: str | None) -> OutgoingRun:
    """A run of a store as it may go out."""
    from kgbench.exports.outgoing_run import read
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        return read(opened, wanted)


def check_place(out: Path | None, *, json_: bool) -> None:
    """Raise where a report is asked for that would stand in the middle of the document."""
    if json_ and out is None:
        raise typer.BadParameter(
            "tells what was written: say where with --out", param_hint="--json"
        )


def indented(value: Any) -> bytes:
    """A JSON document for people to read, in ASCII."""
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def write(content: bytes, out: Path | None) -> None:
    """Write a document to its file, whole or not at all, or to standard output."""
    if out is None:
        typer.echo(content, nl=False)
        return
    from kgbench import files

    files.write(out, content)


def report(out: Path | None, counts: dict[str, Any], *, json_: bool) -> None:
    """Say what was written to a file; nothing where the document went to standard output."""
    if out is None:
        return
    if json_:
        typer.echo(json.dumps({"file": str(out), **counts}, indent=2))
        return
    said = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
    typer.echo(f"{out}  {said}")
