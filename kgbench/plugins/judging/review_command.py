# SPDX-License-Identifier: Apache-2.0
"""``kgbench review``: people judge dialogues in the browser; their verdicts as files."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import kgbench.api as kb
from kgbench.cli import options
from kgbench.cli.option_groups import Listening
from kgbench.cli.options import Form
from kgbench.cli.printing import count, report, write
from kgbench.plugins.judging.judge_command import JudgedGlobs, JudgedSample

PANEL = "Judge again"
REVIEW_KEY = "KGBENCH_REVIEW_KEY"


class Order(StrEnum):
    """Order in which reviewers see items."""

    DISAGREEMENTS = "disagreements"
    RANDOM = "random"


def command(app: typer.Typer) -> None:
    """Register the command, and those below it."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(review)
    group.command("export")(export)
    group.command("import")(import_)
    app.add_typer(group, name="review")


@kb.grouped
def review(
    context: typer.Context,
    *,
    rubric: Annotated[str, typer.Option("--rubric", metavar="NAME", help="The rubric.")] = (
        "correctness"
    ),
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="The run to judge: its id, IRI or label. Default: the newest.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    judged: JudgedGlobs = None,
    sample: JudgedSample = None,
    order: Annotated[
        Order,
        typer.Option("--queue", help="The order: disagreements of judges first, or random."),
    ] = Order.DISAGREEMENTS,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of sample and order.")] = 0,
    listening: Listening,
    store: options.Store = None,
) -> None:
    """Serve pages on which people judge stored dialogues. Stop with Ctrl-C or SIGTERM.

    Everybody who has the printed link can judge.
    """
    if context.invoked_subcommand is not None:
        return
    from kgbench.cli.printing import missing_package
    from kgbench.plugins.judging.planning import JudgingRequest
    from kgbench.record import reading
    from kgbench.record.judgements import rubric as rubric_of
    from kgbench.run_selection import Selection
    from kgbench.scores.selection import newest_judgeable_run
    from kgbench.store import default_location, embedded_only, open_existing
    from kgbench.store.publication_keys import publication_key

    try:
        from kgbench.plugins.judging.access import Access, new_key
        from kgbench.plugins.judging.pages import application
        from kgbench.plugins.judging.queue import ReviewQueue
        from kgbench.serve.startup import host_names, server
        from kgbench.serve.startup import run as serve
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    selection = Selection(tuple(task or ()), tuple(judged or ()))
    judging = JudgingRequest(rubric_of(rubric), selection, sample, seed)
    location = store or default_location()
    host, public = listening.host, listening.public
    with open_existing(str(embedded_only(location, "reviewing"))) as opened:
        judged_run = newest_judgeable_run(opened) if run is None else reading.find_run(opened, run)
        queue = ReviewQueue(opened, judged_run, judging, order)
        # From a key that never leaves the store, so that pseudonyms outlast this server.
        secret = publication_key(opened.location).tag("review", "")
        access = Access(os.environ.get(REVIEW_KEY) or new_key(), public, secret)
        root = f"{public.rstrip('/')}/" if public else "{url}"
        personal = [
            f"only for {name}  {root}{access.personal_link(name)}\n" for name in queue.reviewers
        ]
        settings = kb.PageSettings(location=location, hosts=host_names(host, public))
        banner = (
            f"reviewing {judged_run.id} ({judged_run.label}) by {rubric}: "
            f"{count(len(queue.entries), 'item')}, {order}\n"
            f"open  {root}?key={access.key}\n"
            "Anybody with this link can judge; Ctrl-C ends the review.\n"
            f"{''.join(personal)}"
        )
        serve(server(settings, application(settings, queue, access)), banner, host, listening.port)


def export(
    *,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The judged run: its id, IRI or label. Default: all.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", "-f", help="Format of the verdicts.")
    ] = Form.CSV,
    reviewer: Annotated[
        str | None,
        typer.Option("--reviewer", metavar="NAME", help="Only verdicts of this reviewer."),
    ] = None,
    out: options.TableFile = None,
    guard: options.Guard = False,
    store: options.Store = None,
) -> None:
    """Export the verdicts of human reviewers, including revised ones."""
    from kgbench.plugins.judging import review_files
    from kgbench.record import reading
    from kgbench.record import reviews as record
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        judged = None if run is None else reading.find_run(opened, run).iri
        verdicts = record.reviews(opened, judged)
        if reviewer is not None:
            verdicts = [verdict for verdict in verdicts if verdict.reviewer == reviewer]
        if not verdicts:
            raise kb.StoreError(
                "there are no such verdicts of people: collect them with `kgbench review`"
            )
    write(review_files.table(verdicts), form, out, guard=guard)


def import_(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV with the columns of an export."),
    ],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import verdicts of human reviewers. Importing them again changes nothing."""
    from kgbench.datasets import json_files
    from kgbench.plugins.judging import review_files
    from kgbench.store import open_existing

    text = json_files.read_text(file)
    with open_existing(store) as opened:
        try:
            verdicts = review_files.from_csv(opened, text)
            result = review_files.import_reviews(opened, verdicts)
        except kb.StoreError as error:
            raise kb.StoreError(f"{file}: {error}") from None
    who = f" by {', '.join(result.reviewers)}" if result.reviewers else ""
    line = f"{count(result.added, 'new verdict')}{who}, {result.known:,} known before"
    data = {"added": result.added, "known": result.known, "reviewers": result.reviewers}
    report(data, [line], json_=json_)
