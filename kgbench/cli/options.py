# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kgbench.analysis import registry
from kgbench.analysis.registry import COMMON, DECLARED, METRIC, ROUND
from kgbench.cli import completion
from kgbench.cli.tables import Form

STORE_VARIABLE = "KGBENCH_STORE"


class Redact(StrEnum):
    """Level of redaction; each level also leaves out everything that earlier levels leave out."""

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


def analysis_option(name: str, option: registry.Option) -> Any:
    """Return the typer option for the parameter ``name`` of an analysis."""
    check = option.checked

    def checked(text: str | None) -> str | None:
        return text if text is None or check is None else check(text)

    return typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=option.metavar,
        min=option.min,
        max=option.max,
        help=option.help,
        rich_help_panel=option.panel,
        callback=None if check is None else checked,
    )


def explicit_store(store: str | None) -> str | None:
    """Return the store location that printed commands must repeat, or ``None``.

    A store named by the environment variable also applies to the next command.
    """
    return None if store == os.environ.get(STORE_VARIABLE) else store


def _use_key(context: typer.Context, path: Path | None) -> Path | None:
    """Use the task key in a file until the command ends."""
    if path is not None:
        from kgbench.tasks import keys

        keys.set_key(keys.read_key_file(path))
        context.call_on_close(lambda: keys.set_key(None))
    return path


KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="File with the key of encrypted task files. Default: the key in KGBENCH_TASK_KEY.",
        callback=_use_key,
        rich_help_panel="Judging",
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
    typer.Option(
        "--suite",
        metavar="NAME",
        help="The suite to read; by default, the only one that the chosen models share, or that of "
        "the newest run.",
    ),
]
FIRST = "first"  # the evaluation pass that counts where none is named
Pass = Annotated[
    str,
    typer.Option(
        "--pass",
        metavar="PASS",
        help="The evaluation pass to use: first, latest, or an IRI.",
        rich_help_panel="Selection",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel="Output")
]
MaxMegabytes = Annotated[
    int,
    typer.Option(
        "--most",
        metavar="MB",
        help="The most megabytes to read, packed and unpacked.",
        min=1,
        rich_help_panel="Limits",
    ),
]
Seconds = Annotated[
    float,
    typer.Option(
        "--seconds",
        help="The time limit for the whole command in seconds.",
        min=0.1,
        rich_help_panel="Limits",
    ),
]
Password = Annotated[
    str | None,
    typer.Option(
        "--password",
        envvar="KGBENCH_ARCHIVE_PASSWORD",
        show_envvar=True,
        help="Password of encrypted archives.",
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
        autocompletion=completion.models,
    ),
]
Preflight = Annotated[
    bool,
    typer.Option(
        "--preflight/--no-preflight",
        help="Make a short test call to each model first, and stop if it fails.",
        rich_help_panel="Models",
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
        "--sample", metavar="N", min=1, help="Only N dialogues (or pairs), drawn at random."
    ),
]
ToolProtocol = Annotated[
    Protocol | None,
    typer.Option(
        "--tool-protocol",
        help="How tools are offered to models: by the provider's tool calling (native), or in the "
        "prompt (text). Default: native if the connector supports it.",
        rich_help_panel="Models",
    ),
]
EveryRun = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: all.",
        autocompletion=completion.runs,
    ),
]
Unprotected = Annotated[
    list[str] | None,
    typer.Option(
        "--unprotected",
        metavar="SUITE",
        help="Include the texts of this protected suite; repeatable.",
        rich_help_panel="Selection",
    ),
]
TaskGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        "-t",
        metavar="GLOB",
        help="Only task labels that match; repeatable.",
        autocompletion=completion.tasks,
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
    list[str] | None,
    typer.Option("--model", "-m", metavar="GLOB", help="Only models that match; repeatable."),
]
OfRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Only this run: its id, IRI or label.",
        autocompletion=completion.runs,
        rich_help_panel="Selection",
    ),
]
Metric = Annotated[str | None, analysis_option("metric", METRIC)]
Round = Annotated[str | None, analysis_option("round", ROUND)]
Declared = Annotated[Path | None, analysis_option("declared", DECLARED)]
Common = Annotated[bool, analysis_option("common", COMMON)]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Only these columns, in this order: their names in CSV, separated by commas.",
        rich_help_panel="Output",
    ),
]
TableForm = Annotated[Form, typer.Option("--format", "-f", help="Format of the table.")]
Guard = Annotated[
    bool,
    typer.Option(
        "--guard",
        help="For spreadsheets: put ' before text that would run as a formula.",
        rich_help_panel="Output",
    ),
]
Crlf = Annotated[
    bool,
    typer.Option(
        "--crlf",
        help="End lines of CSV with CR LF (RFC 4180) instead of LF.",
        rich_help_panel="Output",
    ),
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
        help="The engine that parses RDF and executes SPARQL: oxigraph or rdflib.",
        callback=_engine,
        rich_help_panel="Judging",
    ),
]
Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="SPEC",
        help="Where answers are judged: local, local:N (processes), or dask:tcp://HOST:PORT.",
        rich_help_panel="Judging",
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="The SPARQL endpoint for published cases whose graph is not available as a file.",
        rich_help_panel="Judging",
    ),
]
Configuration = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG", help="A configuration (YAML, JSON or Turtle)."),
]
