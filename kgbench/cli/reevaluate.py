# SPDX-License-Identifier: Apache-2.0
"""``kgbench reevaluate``: judge stored dialogues again, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.analysis.tables import Column, Kind, Table
from kgbench.cli import completing, options
from kgbench.cli.progress import progress
from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.comparison import Comparison
    from kgbench.record.reading import PassInfo, RunInfo
    from kgbench.reevaluation import Reevaluated
    from kgbench.store.protocol import Store


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("reevaluate")(reevaluate)


def reevaluate(  # noqa: PLR0917 - a command line has many options
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run's id, IRI or label; default: all.",
            autocompletion=completing.runs,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    model: options.ModelGlobs = None,
    engine: options.Engine = "oxigraph",
    endpoint: options.Endpoint = None,
    executor: options.Executor = "local",
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="PASS", help="Compare with this pass; default: first."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds that judging one answer may take.")
    ] = 30.0,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Judge stored dialogues again in a new evaluation pass, and report what came out otherwise."""
    from kgbench.comparison import Comparison
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import executor as make_executor
    from kgbench.record import reading
    from kgbench.reevaluation import Selection, reevaluate_each, runs_with
    from kgbench.store import open_store

    selection = Selection(tuple(task or ()), tuple(model or ()))
    limits = JudgeLimits(seconds=timeout, engine=engine)
    whole = Comparison()
    done: list[Reevaluated] = []
    with (
        open_store(store) as opened,
        make_executor(executor) as pool,
        progress("judging", None, quiet=json_) as advance,
    ):
        runs = [reading.find_run(opened, run)] if run is not None else reading.runs(opened)
        todo = [(one, _pass(opened, one, against)) for one in runs_with(opened, runs, selection)]
        for found in reevaluate_each(
            opened, todo, pool, limits, selection=selection, endpoint=endpoint, watch=advance
        ):
            whole.extend(found.comparison)
            done.append(found)
    _report(whole, done, json_=json_)


def _pass(store: Store, run: RunInfo, name: str | None) -> PassInfo | None:
    if name is None or name == "first":
        return None
    from kgbench.errors import StoreError
    from kgbench.record import reading

    known = reading.passes(store, run)
    if name == "latest":
        return known[-1]
    for one in known:
        if name in (one.iri, one.iri.rpartition("/")[2]):
            return one
    ids = ", ".join(one.iri.rpartition("/")[2] for one in known)
    raise StoreError(f"the run {run.id} has no evaluation pass '{name}'; there are: {ids}")


def _report(whole: Comparison, done: list[Reevaluated], *, json_: bool) -> None:
    from kgbench.analysis.rendering import render

    if json_:
        said = {
            **whole.report(),
            "passes": [{"pass": one.evaluation_pass, "against": one.against} for one in done],
            "passed_over": _passed_over(done),
        }
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    typer.echo(render(_table(whole), "table"), nl=False)
    typer.echo(
        f"{count(whole.dialogues, 'dialogue')} judged again, {len(whole.differing):,} differ from "
        "the pass they were compared with"
    )
    for reason, times in _passed_over(done).items():
        typer.echo(f"{count(times, 'dialogue')} passed over: {reason}")
    for one in done:
        typer.echo(f"pass   {one.evaluation_pass}")


def _table(whole: Comparison) -> Table:
    columns = (
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("compared", "Compared", Kind.COUNT),
        Column("changed", "Changed", Kind.COUNT),
        Column("mean_change", "Mean change", Kind.SCORE),
        Column("max_change", "Max change", Kind.SCORE),
    )
    rows = tuple(tuple(row[column.name] for column in columns) for row in whole.report()["metrics"])
    return Table("Values compared and changed", columns, rows)


def _passed_over(done: list[Reevaluated]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in done:
        for reason, times in one.passed_over.items():
            total[reason] = total.get(reason, 0) + times
    return total
