# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, so that the same words mean the same everywhere."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kgbench.analysis import registry
from kgbench.analysis.registry import COMMON, DECLARED, METRIC, ROUND
from kgbench.cli import completing
from kgbench.cli.tables import Form

STORE_VARIABLE = "KGBENCH_STORE"


class Redact(StrEnum):
    """What is left out; each level leaves out what the one before it does, too."""

    NONE = "none"
    GOLD = "gold"
    PROMPTS = "prompts"
    ANSWERS = "answers"


class Protocol(StrEnum):
    """How models are offered tools."""

    NATIVE = "native"
    TEXT = "text"


def _engine(name: str) -> str:
    from kgbench.execution.engines import ENGINES

    if name not in ENGINES:
        raise typer.BadParameter(f"there is no engine '{name}': choose {' or '.join(ENGINES)}")
    return name


def typed(option: registry.Option) -> Any:
    """The option of a command line for the parameter of an analysis."""
    check = option.checked

    def checked(text: str | None) -> str | None:
        return text if text is None or check is None else check(text)

    return typer.Option(
        option.flag,
        metavar=option.metavar,
        min=option.min,
        max=option.max,
        help=option.help,
        callback=None if check is None else checked,
    )


def typed_store(store: str | None) -> str | None:
    """The location of the store if a command to copy has to repeat it.

    A store that the environment names holds for the next command, too.
    """
    return None if store == os.environ.get(STORE_VARIABLE) else store


def _hand_key(context: typer.Context, path: Path | None) -> Path | None:
    """Give this process the key in a file until the command is done."""
    if path is not None:
        from kgbench.tasks import keys

        keys.hand(keys.from_file(path))
        context.call_on_close(lambda: keys.hand(None))
    return path


KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The key of encrypted task files; default: KGBENCH_TASK_KEY.",
        callback=_hand_key,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar=STORE_VARIABLE,
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
ModelSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="SPEC",
        help="A model such as baseline:oracle or openai:NAME@http://host/v1, "
        "or a glob over the configuration's models; repeatable.",
        autocompletion=completing.models,
    ),
]
Preflight = Annotated[
    bool,
    typer.Option(
        "--preflight/--no-preflight",
        help="Make a short first call to each model, and stop where it fails.",
    ),
]
JudgedGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--judged", metavar="GLOB", help="Only dialogues of models that match; repeatable."
    ),
]
JudgedSample = Annotated[
    int | None,
    typer.Option(
        "--sample", metavar="N", min=1, help="Only so many dialogues (or pairs), at random."
    ),
]
ToolProtocol = Annotated[
    Protocol | None,
    typer.Option(
        "--tool-protocol",
        help="How models are offered tools: by their provider's tool calling, or told in the "
        "prompt. Default: the first where the connector has it.",
    ),
]
EveryRun = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: all.",
        autocompletion=completing.runs,
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
OfRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Only this run: its id, IRI or label.",
        autocompletion=completing.runs,
    ),
]
Metric = Annotated[str | None, typed(METRIC)]
Round = Annotated[str | None, typed(ROUND)]
Declared = Annotated[Path | None, typed(DECLARED)]
Common = Annotated[bool, typed(COMMON)]
TableForm = Annotated[Form, typer.Option("--format", "-f", help="How the table is written.")]
Guard = Annotated[
    bool,
    typer.Option(
        "--guard",
        help="For spreadsheets: put ' before text that they would run as a formula.",
    ),
]
Crlf = Annotated[
    bool, typer.Option("--crlf", help="End lines of CSV with CR LF (RFC 4180) instead of LF.")
]
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
    typer.Argument(metavar="CONFIG", help="A configuration (YAML, JSON or Turtle)."),
]
