# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and the completion of their values in a shell.

Names are completed without a server and without writing. Errors are suppressed, because a shell
cannot show messages while it completes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kgbench.analysis import registry
from kgbench.analysis.registry import COMMON, DECLARED, METRIC, ROUND

_MODELS = ("baseline:oracle", "baseline:noisy", "baseline:silent")
STORE_VARIABLE = "KGBENCH_STORE"


def complete_tasks(incomplete: str) -> list[str]:
    """Complete task labels."""
    from kgbench.tasks import catalogue

    return _with_prefix(incomplete, catalogue.labelled_tasks())


def complete_models(incomplete: str) -> list[str]:
    """Complete baseline models, and other connectors up to the colon."""
    from kgbench.connectors import names

    others = [f"{name}:" for name in names() if name != "baseline"]
    return _with_prefix(incomplete, [*_MODELS, *others])


def complete_queries(incomplete: str) -> list[str]:
    """Complete names of declared queries."""
    from kgbench.rdf import queries as declared

    return _with_prefix(incomplete, declared.names())


def complete_data_sets(incomplete: str) -> list[str]:
    """Complete names of data sets that can be installed."""
    from kgbench.datasets import descriptions

    return _with_prefix(incomplete, descriptions.names())


def complete_runs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete ids of the runs in an embedded store, newest first, with their labels."""
    rows: list[tuple[str, str]] = []
    with suppress(Exception):  # an unreadable store completes nothing
        rows = _runs(context.params.get("store"))
    return [(name, label) for name, label in rows if name.startswith(incomplete)]


def _runs(location: object) -> list[tuple[str, str]]:
    from kgbench.record import reading
    from kgbench.store import back_ends, default_location, open_reader, snapshots

    path = str(location or os.environ.get("KGBENCH_STORE") or default_location())
    # A server would get a request per key press, and opening an unclosed store would repair it.
    if back_ends.is_remote(path) or not snapshots.is_complete(Path(path) / "snapshots"):
        return []
    with open_reader(path) as store:
        return [(run.id, run.label) for run in reading.runs(store)]


def _with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


class Redact(StrEnum):
    """Level of redaction; each level also leaves out everything that earlier levels leave out."""

    NONE = "none"
    GOLD = "gold"
    PROMPTS = "prompts"
    ANSWERS = "answers"


class Form(StrEnum):
    """Output formats of tables."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    MARKDOWN = "markdown"
    LATEX = "latex"

    @classmethod
    def of_file(cls, path: Path) -> Form:
        """Return the format that the name of a file shows.

        Raises :class:`typer.BadParameter` for a suffix that no format has.

        >>> Form.of_file(Path("scores.tex"))
        <Form.LATEX: 'latex'>
        """
        suffixes = {"": cls.TABLE, ".txt": cls.TABLE, ".md": cls.MARKDOWN, ".tex": cls.LATEX}
        suffixes |= {f".{form}": form for form in (cls.CSV, cls.JSON, cls.XLSX)}
        if (suffix := path.suffix.lower()) not in suffixes:
            raise typer.BadParameter(
                f"no format of tables has the suffix {suffix}: choose "
                f"{', '.join(filter(None, suffixes))}, or name the format with --format"
            )
        return suffixes[suffix]

    @property
    def for_people(self) -> bool:
        """Whether the format is for readers: with display names and rounded numbers."""
        return self not in (Form.CSV, Form.JSON)


class Protocol(StrEnum):
    """How models are offered tools."""

    NATIVE = "native"
    TEXT = "text"


def _engine(name: str) -> str:
    from kgbench.execution.engines import ENGINES

    if name not in ENGINES:
        raise typer.BadParameter(f"there is no engine '{name}': choose {' or '.join(ENGINES)}")
    return name


def rarer(panel: str, *flags: str, **settings: Any) -> Any:
    """Return an option in a help panel, which ``--help`` omits if a command has many options."""
    return typer.Option(*flags, rich_help_panel=panel, **settings)


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
        from kgbench.tasks import protection

        protection.set_key(protection.read_key_file(path))
        context.call_on_close(lambda: protection.set_key(None))
    return path


KeyFile = Annotated[
    Path | None,
    rarer(
        "Judging",
        "--key-file",
        metavar="FILE",
        help="File with the key of encrypted task files. Default: the key in KGBENCH_TASK_KEY.",
        callback=_use_key,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar=STORE_VARIABLE,
        metavar="LOCATION",
        help="The result store: a folder, memory:, or the http(s) URL of a SPARQL server. Default: "
        "store/results of a checkout, else ./kgbench-results.",
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
    rarer(
        "Selection",
        "--pass",
        metavar="PASS",
        help="The evaluation pass to use: first, latest, or an IRI.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
AsJson = Annotated[bool, rarer("Output", "--json", help="Print JSON instead of text.")]
MaxMegabytes = Annotated[
    int,
    rarer(
        "Limits",
        "--most",
        metavar="MB",
        help="The most megabytes to read, packed and unpacked.",
        min=1,
    ),
]
Seconds = Annotated[
    float,
    rarer("Limits", "--seconds", help="The time limit for the whole command in seconds.", min=0.1),
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
        autocompletion=complete_models,
    ),
]
Preflight = Annotated[
    bool,
    rarer(
        "Models",
        "--preflight/--no-preflight",
        help="Make a short test call to each model first, and stop if it fails.",
    ),
]
ToolProtocol = Annotated[
    Protocol | None,
    rarer(
        "Models",
        "--tool-protocol",
        help="How tools are offered to models: by the provider's tool calling (native), or in the "
        "prompt (text). Default: native if the connector supports it.",
    ),
]
EveryRun = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A run's id, IRI or label; default: all.",
        autocompletion=complete_runs,
    ),
]
Unprotected = Annotated[
    list[str] | None,
    rarer(
        "Selection",
        "--unprotected",
        metavar="SUITE",
        help="Include the texts of this protected suite; repeatable.",
    ),
]
Iterations = Annotated[
    int | None, typer.Option("--iterations", "-n", min=1, help="Dialogues per task label.")
]
RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, IRI or label.", autocompletion=complete_runs),
]
TaskGlobs = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        "-t",
        metavar="GLOB",
        help="Only task labels that match; repeatable.",
        autocompletion=complete_tasks,
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
    rarer(
        "Selection",
        "--run",
        metavar="RUN",
        help="Only this run: its id, IRI or label.",
        autocompletion=complete_runs,
    ),
]
Metric = Annotated[str | None, analysis_option("metric", METRIC)]
Round = Annotated[str | None, analysis_option("round", ROUND)]
Declared = Annotated[Path | None, analysis_option("declared", DECLARED)]
Common = Annotated[bool, analysis_option("common", COMMON)]
Columns = Annotated[
    str | None,
    rarer(
        "Output",
        "--columns",
        metavar="NAMES",
        help="Only these columns, in this order: their names in CSV, separated by commas.",
    ),
]
TableForm = Annotated[
    Form | None,
    typer.Option(
        "--format", "-f", help="Format of the table; default: by the name of the file, or table."
    ),
]
Guard = Annotated[
    bool,
    rarer(
        "Output", "--guard", help="For spreadsheets: put ' before text that would run as a formula."
    ),
]
Crlf = Annotated[
    bool,
    rarer("Output", "--crlf", help="End lines of CSV with CR LF (RFC 4180) instead of LF."),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write to a file instead of the terminal."),
]
Engine = Annotated[
    str,
    rarer(
        "Judging",
        "--engine",
        metavar="NAME",
        help="The engine that parses RDF and executes SPARQL: oxigraph or rdflib.",
        callback=_engine,
    ),
]
Executor = Annotated[
    str,
    rarer(
        "Judging",
        "--executor",
        metavar="SPEC",
        help="Where answers are judged: local, local:N (processes), or dask:tcp://HOST:PORT.",
    ),
]
Endpoint = Annotated[
    str | None,
    rarer(
        "Judging",
        "--endpoint",
        metavar="URL",
        help="The SPARQL endpoint for published cases whose graph is not available as a file.",
    ),
]
Configuration = Annotated[
    Path | None, typer.Argument(metavar="CONFIG", help="A configuration (YAML, JSON or Turtle).")
]
