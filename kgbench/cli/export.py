# SPDX-License-Identifier: Apache-2.0
"""``kgbench export``: a run in the formats of other communities."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import completing, options

if TYPE_CHECKING:
    from kgbench.exports.outgoing_run import OutgoingRun, Wanted

_DIALOGUE = re.compile(r"/run/[^/]+/[^/]+/[^/]+/[0-9]+-[0-9a-f]+(?:\.[0-9]+)?$")

Run = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="A run's id, IRI or label; default: the newest.",
        autocompletion=completing.runs,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Where to write; standard output if unsaid."),
]
Level = Annotated[
    options.Redact,
    typer.Option(
        "--redact", help="Leave out nothing, reference answers, also prompts, also answers."
    ),
]
Place = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Where to write; it must not be there.")
]
Licence = Annotated[
    str,
    typer.Option(
        "--licence", "--license", metavar="SPDX", help="An SPDX identifier or an IRI; needed."
    ),
]
Creators = Annotated[
    list[str] | None,
    typer.Option("--creator", metavar="NAME", help="Who made the results; repeatable."),
]


class ProvFormat(StrEnum):
    """How provenance is written."""

    PROVN = "provn"
    JSON = "json"
    XML = "xml"
    RDF = "rdf"
    SVG = "svg"
    PNG = "png"


class Relation(StrEnum):
    """What an evaluator is to the makers of the models."""

    FIRST = "first_party"
    THIRD = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(help="Write a run in another community's format.", no_args_is_help=True)
    group.callback()(_several)
    for one in (prov, rocrate, croissant, eee):
        group.command(one.__name__)(one)
    group.command("llm-kg-bench")(llm_kg_bench)
    app.add_typer(group, name="export")


def _several() -> None:
    """Write a run in another community's format."""


def llm_kg_bench(
    run: Run = None,
    *,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Level = options.Redact.GOLD,
    unprotected: options.Unprotected = None,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a result file of LLM-KG-Bench 3 (JSON).

    With --redact none, importing the file gives the same dialogues and scores.
    """
    from kgbench.exports import llm_kg_bench as exporting

    _check(out, json_=json_)
    found, left = exporting.records(_read(_wanted(run, choice, redact, unprotected), store))
    _write(_indented(found), out)
    _report(out, {"records": len(found), "without_answer": left}, json_=json_)


def prov(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|DIALOGUE]",
            help="A run's id, IRI or label, or a dialogue's IRI; default: the newest run.",
            autocompletion=completing.runs,
        ),
    ] = None,
    *,
    form: Annotated[
        ProvFormat, typer.Option("--format", help="How it is written; svg and png are drawings.")
    ] = ProvFormat.PROVN,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Level = options.Redact.GOLD,
    unprotected: options.Unprotected = None,
    out: Out = None,
    json_: options.AsJson = False,
) -> None:
    """Export where a run or a dialogue comes from, as PROV-N, PROV-JSON, PROV-XML or PROV-O."""
    _check(out, json_=json_)
    _needs("prov", "matplotlib" if form is ProvFormat.PNG else "prov")
    from kgbench.exports import prov_document, prov_drawing

    found = _read(_wanted(name, choice, redact, unprotected), store)
    if form in (ProvFormat.SVG, ProvFormat.PNG):
        drawn = prov_drawing.drawing(found)
        draw = prov_drawing.svg if form is ProvFormat.SVG else prov_drawing.png
        _write(draw(drawn), out)
        _report(out, {"boxes": len(drawn.nodes), "arrows": len(drawn.arrows)}, json_=json_)
        return
    document = prov_document.document(found)
    _write(prov_document.serialised(document, str(form)), out)
    _report(out, {"records": len(list(document.get_records()))}, json_=json_)


def rocrate(
    run: Run = None,
    *,
    place: Place,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Level = options.Redact.GOLD,
    unprotected: options.Unprotected = None,
    licence: Licence,
    creator: Creators = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as a Process Run Crate 0.5: a folder, or an archive where DIR ends in .zip."""
    _needs("rocrate")
    from kgbench.exports import ro_crate
    from kgbench.publish.about import licence as licence_iri

    describing = ro_crate.Describing(licence_iri(licence), tuple(creator or ()))
    found = _read(_wanted(run, choice, redact, unprotected), store)
    count = ro_crate.write(found, place, describing)
    _report(place, {"files": count, "dialogues": len(found.held)}, json_=json_)


def croissant(
    run: Run = None,
    *,
    place: Place,
    store: options.Store = None,
    choice: options.Pass = "first",
    redact: Level = options.Redact.GOLD,
    unprotected: options.Unprotected = None,
    licence: Licence,
    creator: Creators = None,
    json_: options.AsJson = False,
) -> None:
    """Export the scores of a run as a Croissant data set, with a view as Croissant Tasks."""
    from kgbench.exports import croissant as exporting
    from kgbench.publish.about import licence as licence_iri

    of_data = licence_iri(licence)
    found = _read(_wanted(run, choice, redact, unprotected), store)
    files = exporting.write(found, place, of_data, creator or ())
    _report(place, {"files": len(files), "dialogues": len(found.held)}, json_=json_)


def eee(
    run: Run = None,
    *,
    place: Place,
    store: options.Store = None,
    choice: options.Pass = "first",
    organisation: Annotated[
        str, typer.Option("--organisation", metavar="NAME", help="Who made the evaluation.")
    ] = "unknown",
    relation: Annotated[
        Relation,
        typer.Option("--relation", help="What the evaluator is to the makers of the models."),
    ] = Relation.OTHER,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema", metavar="FILE", help="The official JSON schema to check against, not ours."
        ),
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Export a run as records of Every Eval Ever 0.3: scores by model and task, no texts."""
    from datetime import UTC, datetime

    _needs("jsonschema")
    from kgbench import files
    from kgbench.exports import every_eval_ever

    found = _read(_wanted(run, choice, options.Redact.ANSWERS, None), store)
    records = every_eval_ever.records(found, organisation, str(relation), datetime.now(UTC))
    every_eval_ever.check(records, schema)
    for path, record in records.items():
        files.write(place / path, _indented(record))
    _report(place, {"records": len(records)}, json_=json_)


# --- what all of them do -----------------------------------------------------------------------


def _needs(*packages: str) -> None:
    """Raise in words where a package of the extra is not installed."""
    from importlib.util import find_spec

    from kgbench.errors import ResourceError

    for name in packages:
        if find_spec(name) is None:
            raise ResourceError(f"{name} is not installed: pip install 'kgbench[publish]'")


def _wanted(
    run: str | None, choice: str, redact: options.Redact, unprotected: list[str] | None
) -> Wanted:
    from kgbench.exports.outgoing_run import Wanted
    from kgbench.publish.withholding import Level

    dialogue = run if run is not None and _DIALOGUE.search(run) else None
    level = Level[redact.name]
    return Wanted(run, choice, level, frozenset(unprotected or ()), dialogue)


def _read(wanted: Wanted, store: str | None) -> OutgoingRun:
    from kgbench.exports.outgoing_run import read
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        return read(opened, wanted)


def _check(out: Path | None, *, json_: bool) -> None:
    """Raise where a report is asked for that would stand in the middle of the document."""
    if json_ and out is None:
        raise typer.BadParameter(
            "tells what was written: say where with --out", param_hint="--json"
        )


def _indented(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode("ascii")


def _write(content: bytes, out: Path | None) -> None:
    """Write a document to its file, whole or not at all, or to standard output."""
    if out is None:
        typer.echo(content, nl=False)
        return
    from kgbench import files

    files.write(out, content)


def _report(out: Path | None, counts: dict[str, Any], *, json_: bool) -> None:
    if out is None:
        return
    if json_:
        typer.echo(json.dumps({"file": str(out), **counts}, indent=2))
        return
    said = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())
    typer.echo(f"{out}  {said}")
