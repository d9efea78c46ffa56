# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, so that the same words mean the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import completing
from kgbench.cli.tables import Form


class Redact(StrEnum):
    """What is left out; each level leaves out what the one before it does, too."""

    NONE = "none"
    GOLD = "gold"
    PROMPTS = "prompts"
    ANSWERS = "answers"


def _engine(name: str) -> str:
    from kgbench.execution.engines import ENGINES

    if name not in ENGINES:
        raise typer.BadParameter(f"there is no engine '{name}': choose {' or '.join(ENGINES)}")
    return name


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="KGBENCH_STORE",
        metavar="LOCATION",
        help="The result store: a folder, memory:, the http(s) URL of a SPARQL server, or a Turtle "
        "file that describes one. Default: store/results of a checkout, else ./kgbench-results.",
    ),
]
Suite = Annotated[
    str | None,
    typer.Option("--suite", metavar="NAME", help="The suite to read, where the store has several."),
]
Pass = Annotated[
    str,
    typer.Option(
        "--pass", metavar="PASS", help="The evaluation pass that counts: first, latest, or an IRI."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Password = Annotated[
    str | None,
    typer.Option(
        "--password",
        envvar="KGBENCH_ARCHIVE_PASSWORD",
        show_envvar=True,
        help="Opens encrypted archives.",
    ),
]
Unprotected = Annotated[
    list[str] | None,
    typer.Option(
        "--unprotected",
        metavar="SUITE",
        help="Tell texts of this protected suite in the clear; repeatable.",
    ),
]
TaskGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        "-t",
        metavar="GLOB",
        help="Only task labels that match; repeatable.",
        autocompletion=completing.tasks,
    ),
]
ModelGlobs = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", metavar="GLOB", help="Only model ids that match; repeatable."),
]
TaskGlob = Annotated[
    str, typer.Option("--task", "-t", metavar="GLOB", help="Only task labels that match.")
]
ModelGlob = Annotated[
    str, typer.Option("--model", "-m", metavar="GLOB", help="Only models that match.")
]
Metric = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help="A metric's short name; default: the main one."),
]
Declared = Annotated[
    Path | None,
    typer.Option("--declared", metavar="FILE", help="Your own declarations (Turtle)."),
]
TableForm = Annotated[Form, typer.Option("--format", "-f", help="How the table is written.")]
TableFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write to a file instead of the terminal."),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What parses and executes: oxigraph or rdflib.",
        callback=_engine,
    ),
]
Executor = Annotated[
    str,
    typer.Option(
        "--executor", metavar="SPEC", help="Who judges: local, local:N, or dask:tcp://HOST:PORT."
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="The SPARQL endpoint that executes the queries about published cases whose graph "
        "only an endpoint has.",
    ),
]
Configuration = Annotated[
    Path | None,
    typer.Argument(metavar="[CONFIG]", help="A configuration (YAML, JSON or Turtle)."),
]
