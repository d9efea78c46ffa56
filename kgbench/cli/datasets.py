# SPDX-License-Identifier: Apache-2.0
"""``kgbench datasets``: list and install third-party data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.commands import end_after
from kgbench.cli.printing import count, progress, report

if TYPE_CHECKING:
    from kgbench.datasets.descriptions import Description
    from kgbench.datasets.install import InstallationResult
    from kgbench.model import Json
    from kgbench.net.limits import Budget

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A data set; see 'kgbench datasets list'.",
        autocompletion=options.complete_data_sets,
    ),
]
_SHOWN = 3  # names of files


group = typer.Typer(help="List and install third-party data sets.", no_args_is_help=True)


@group.command("list")
def list_(json_: options.AsJson = False) -> None:
    """List available data sets, and which of them are installed."""
    from kgbench.datasets import descriptions, home

    installed = home.installed()
    rows = [
        {"name": name, "title": descriptions.describe(name).title, "installed": name in installed}
        for name in descriptions.names()
    ]
    lines = (
        f"{row['name']}  {row['title']}  ({'installed' if row['installed'] else 'not installed'})"
        for row in rows
    )
    report(rows, lines, json_=json_)


@group.command("show")
def show(name: _Name, json_: options.AsJson = False) -> None:
    """Show the source of a data set, its terms, and what is installed."""
    from kgbench.datasets import descriptions, home

    described, record = descriptions.describe(name), home.installation_record(name)
    facts: dict[str, Json] = {
        "name": name,
        "title": described.title,
        "description": described.description,
        "version": described.version,
        "page": described.page,
        "url": described.url,
        "files": len(described.files),
        "licences": list(described.licences),
        "rights": list(described.rights),
        "place": str(home.folder_of(name)),
        "installed": None if record is None else record["installed"],
        "tasks": [task["label"] for task in (record or {}).get("tasks", ())],
    }
    lines = (
        f"{'' if k else key:12} {'no' if item is None else item}".rstrip()
        for key, value in facts.items()
        for k, item in enumerate(value if isinstance(value, list) else [value])
    )
    report(facts, lines, json_=json_)


@group.command("install")
def install(
    name: _Name,
    copy: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Install from this copy instead of downloading; for ck25, ck26 and db25 also a "
            "zip or tar archive, or its https URL.",
        ),
    ] = None,
    unverified: Annotated[
        bool,
        typer.Option(
            "--unverified", help="For ck25, ck26 and db25: accept a copy with any checksum."
        ),
    ] = False,
    *,
    max_megabytes: options.MaxMegabytes = 8_192,
    seconds: options.Seconds = 3_600.0,
    json_: options.AsJson = False,
) -> None:
    """Install a data set from its pinned URL or from a copy, so that its tasks can be run.

    The data are verified before they replace an earlier installation. Read the terms first:
    'kgbench datasets show NAME'.
    """
    from kgbench.datasets import descriptions
    from kgbench.errors import ImportRefused
    from kgbench.net.limits import Budget

    budget = Budget(max_megabytes << 20, seconds)
    end_after(seconds)
    described = descriptions.describe(name)
    if copy is not None and "://" not in copy and not Path(copy).exists():
        raise ImportRefused(f"no such file or folder: {copy}")
    plugged = name in descriptions.names_of_plug_ins()
    if unverified and not (plugged and descriptions.installer(name).may_differ):
        raise typer.BadParameter(
            f"it does not apply to {name}: see 'kgbench datasets install --help'",
            param_hint="--unverified",
        )
    with progress(f"installing {name}", len(described.files), quiet=json_) as advance:
        result = _installed(described, copy, advance, budget, unverified=unverified)
    data = {
        "place": str(result.place),
        "files": result.files,
        "tasks": result.tasks,
        "differing": result.differing,
        "missing": result.missing,
        "further": len(result.further),
        "remarks": result.remarks,
    }
    files, tasks = count(result.files, "file"), count(result.tasks, "task")
    lines = [f"installed {files} and {tasks} in {result.place}"]
    for problem, paths in (("other than declared", result.differing), ("missing", result.missing)):
        if paths:
            more = " ..." if paths[_SHOWN:] else ""
            lines.append(
                f"{count(len(paths), 'file')} {problem}: {', '.join(paths[:_SHOWN])}{more}"
            )
    lines += [f"remark: {remark}" for remark in result.remarks]
    lines += [f"terms: {remark}" for remark in described.rights]
    report(data, lines, json_=json_)


def _installed(
    described: Description,
    copy: str | None,
    advance: Callable[[int], None],
    budget: Budget,
    *,
    unverified: bool,
) -> InstallationResult:
    """Install a data set with the installer for its kind."""
    from kgbench.datasets import descriptions
    from kgbench.datasets import install as installing
    from kgbench.datasets.text2kgbench import parts, read_part
    from kgbench.importers.text2kgbench_catalogue import part_tasks

    def tasks(root: Path) -> list[dict[str, Json]]:
        return [task for part in parts(root) for task in part_tasks(read_part(root, *part))]

    if described.name in descriptions.names_of_plug_ins():
        return descriptions.installer(described.name).install(described, copy, budget, unverified)
    folder = None if copy is None else Path(copy)
    if described.url:
        return installing.install(described, folder, tasks, advance, budget)
    return _install_graph(described, folder)


def _install_graph(described: Description, copy: Path | None) -> InstallationResult:
    """Install a data set that consists of one graph file."""
    from kgbench.datasets import home
    from kgbench.datasets.install import InstallationResult
    from kgbench.errors import ImportRefused
    from kgbench.tasks import graphs

    ((file, expected),) = described.files.items()
    if copy is None:
        raise ImportRefused(
            f"kgbench does not fetch {described.name}, whose licence is unknown: get {file} from "
            f"{described.page} and run 'kgbench datasets install {described.name} --from PATH'"
        )
    graphs.install(copy)
    differs = (home.installation_record(described.name) or {}).get("sha256") != expected
    return InstallationResult(
        home.folder_of(described.name), files=1, differing=[file] if differs else []
    )


@group.command("similar")
def similar(
    name: _Name,
    *,
    model: Annotated[str, typer.Option("--model", metavar="ID", help="The embedding model.")],
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="An OpenAI-compatible API (.../v1). Default: OpenAI."
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", min=1, help="Training sentences per test sentence.")
    ] = 5,
    ontology: Annotated[
        str | None, typer.Option("--ontology", metavar="NAME", help="Only this ontology.")
    ] = None,
    key: Annotated[
        str,
        typer.Option(
            "--key-from",
            metavar="VARIABLE",
            help="Name of the API key's variable, in the environment or the key ring.",
        ),
    ] = "OPENAI_API_KEY",
) -> None:
    """Create lists of similar training sentences, for tasks with exampleSelection 'embeddings'."""
    from urllib.parse import quote

    from kgbench.config import model_setup
    from kgbench.connectors import keys
    from kgbench.connectors.openai import SERVICE, embed
    from kgbench.datasets import home
    from kgbench.datasets.text2kgbench import parts, read_part
    from kgbench.datasets.text2kgbench_prompts import write_lists
    from kgbench.errors import TaskError

    root = home.folder_of(name)
    address = "" if url is None else f"@{url}"
    named = "" if key in SERVICE.keys else f"?key_env={quote(key)}"
    setup = model_setup(f"openai:{quote(model, safe='/:')}{address}{named}")
    answered: dict[str, str | None] = {}

    def vectors(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with keys.allowed(key):  # the command line names both the secret and where it goes
            embedded = embed(setup, texts)
        answered["model"] = embedded.model
        return embedded.vectors

    chosen = [part for part in parts(root) if ontology in (None, part[1])]
    if not chosen:
        known = ", ".join(sorted({ontology_name for _, ontology_name in parts(root)}))
        raise TaskError(f"there is no ontology '{ontology}' in {root}; there are {known}")
    for collection, ontology_name in chosen:
        path = write_lists(
            root,
            read_part(root, collection, ontology_name),
            vectors,
            count,
            lambda: {"requested": model, "model": answered["model"], "address": setup.base_url},
        )
        typer.echo(f"{collection} {ontology_name}: {path} (by {answered['model'] or model})")
