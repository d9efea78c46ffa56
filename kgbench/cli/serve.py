# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve``: serve a store as a SPARQL endpoint with Linked Data pages."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urlsplit

import typer

from kgbench.cli import options
from kgbench.cli.option_groups import Budget, Permissions, grouped

if TYPE_CHECKING:
    from kgbench.serve.settings import Settings

TOKEN = "KGBENCH_SERVE_TOKEN"  # noqa: S105 - the name of a variable
REVIEW_KEY = "KGBENCH_REVIEW_KEY"
OF_REVIEW = frozenset(("rubric", "of_run", "order", "task", "judged", "sample", "seed"))
OF_ANSWERS = frozenset(
    (
        "requests_per_minute",
        "max_cost",
        "max_tokens",
        "prices",
        "open_",
        "allow_secret",
        "trust_remote_code",
    )
)
OF_TOOLS = frozenset(("graph", "stdio"))
OF_PAGES = frozenset(("base", "redirect", "union", "update"))
OF_QUERIES = frozenset(("cors", "timeout", "rows", "memory", "heavy", "workers"))
OF_HTTP = frozenset(("host", "port", "public", "cors", "redirect", "update"))
USELESS = {  # by option: those that have no effect with it
    "review": OF_PAGES | OF_QUERIES | {"text2sparql", "mcp"},
    "text2sparql": OF_PAGES | OF_QUERIES | {"mcp"},
    "graph": OF_PAGES | {"store"},
    "stdio": OF_HTTP,
}
ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[A-Za-z0-9.:\[\]-]+")


class Order(StrEnum):
    """Order in which reviewers see items."""

    DISAGREEMENTS = "disagreements"
    RANDOM = "random"


class ReviewOptions(NamedTuple):
    """Options of a review: rubric, run, order, and selection of dialogues."""

    rubric: str
    run: str | None
    order: Order
    tasks: Sequence[str]
    judged: Sequence[str]
    sample: int | None
    seed: int


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("serve")(serve)


def _absolute(text: str | None) -> str | None:
    """Return an option's value if it is an absolute http(s) address, as links are made from it."""
    try:
        parts = urlsplit(text or "http://localhost/")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        message = f"'{text}' is not an http or https address: give one like https://example.org/"
        raise typer.BadParameter(message)
    return text


@grouped
def serve(
    context: typer.Context,
    *,
    store: options.Store = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8080,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="IRI",
            help="The IRI prefix whose IRIs are served below the root.",
            callback=_absolute,
            rich_help_panel="Access",
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The public URL of the root, behind a proxy.",
            callback=_absolute,
        ),
    ] = None,
    cors: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN|*",
            help="The origin allowed by CORS, or * for all. Default: none; with --public: all.",
            rich_help_panel="Access",
        ),
    ] = None,
    redirect: Annotated[
        bool,
        typer.Option(
            "--redirect",
            help="Redirect IRIs to their documents with 303.",
            rich_help_panel="Endpoint",
        ),
    ] = False,
    union: Annotated[
        bool,
        typer.Option(
            "--union/--no-union",
            help="Query the union of all graphs as default graph.",
            rich_help_panel="Endpoint",
        ),
    ] = True,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help=f"Open the store for writing; allow updates with the token in {TOKEN}.",
            rich_help_panel="Access",
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Time limit of a query.", min=0.1, rich_help_panel="Limits"
        ),
    ] = 30.0,
    rows: Annotated[
        int,
        typer.Option(help="Maximum number of rows of an answer.", min=1, rich_help_panel="Limits"),
    ] = 1_000_000,
    memory: Annotated[
        int,
        typer.Option(
            metavar="MIB", help="Memory limit of a query.", min=256, rich_help_panel="Limits"
        ),
    ] = 2048,
    heavy: Annotated[
        int,
        typer.Option(
            help="Maximum number of concurrent long-running queries.",
            min=1,
            rich_help_panel="Limits",
        ),
    ] = 2,
    workers: Annotated[
        int,
        typer.Option(
            help="Number of worker processes for quick queries.", min=1, rich_help_panel="Limits"
        ),
    ] = 3,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            help="Open the store for writing; serve only pages on which people judge dialogues.",
        ),
    ] = False,
    rubric: Annotated[
        str,
        typer.Option(
            "--rubric", metavar="NAME", help="With --review: the rubric.", rich_help_panel="Review"
        ),
    ] = "correctness",
    of_run: options.OfRun = None,
    order: Annotated[
        Order,
        typer.Option(
            "--queue",
            help="With --review: the order, disagreements of judges first or random.",
            rich_help_panel="Review",
        ),
    ] = Order.DISAGREEMENTS,
    task: options.TaskGlobs = None,
    judged: options.JudgedGlobs = None,
    sample: options.JudgedSample = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            help="With --review: seed of sample and order.",
            rich_help_panel="Review",
        ),
    ] = 0,
    text2sparql: Annotated[
        str | None,
        typer.Option(
            "--text2sparql",
            metavar="MODEL",
            help="Serve this model as an endpoint of the TEXT2SPARQL challenge, instead of a "
            "store.",
        ),
    ] = None,
    budget: Budget,
    permissions: Permissions,
    open_: Annotated[
        bool,
        typer.Option(
            "--open",
            help=f"With --text2sparql: answer everybody, without the token in {TOKEN}.",
            rich_help_panel="Access",
        ),
    ] = False,
    mcp: Annotated[
        bool,
        typer.Option(
            "--mcp",
            help="Offer tools by the Model Context Protocol: for the store, at /mcp beside its "
            "pages, or with --graph for one graph only.",
        ),
    ] = False,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="TASK|FILE",
            help="With --mcp: the graph of a task with tools (its label), or a file (.ttl, .nt).",
            rich_help_panel="Tools",
        ),
    ] = None,
    stdio: Annotated[
        bool,
        typer.Option(
            "--stdio",
            help="With --mcp: serve one client over stdin and stdout instead of HTTP.",
            rich_help_panel="Tools",
        ),
    ] = False,
) -> None:
    """Serve a store: SPARQL 1.1 endpoint, Linked Data and pages. Stop with Ctrl-C or SIGTERM.

    With --text2sparql, a model answers questions about installed data sets with queries instead.
    With --mcp, other programs, such as desktop assistants, use the store or a graph as tools. With
    --review, people open the printed link and judge stored dialogues, which --rubric, --run,
    --task, --judged, --sample, --seed and --queue select and order.
    """
    _refuse_without_effect(context)
    if text2sparql is not None:
        from kgbench.cli.question_answering import serve_model
        from kgbench.config import model_setup

        setup = model_setup(text2sparql)
        permissions.require([setup])
        serve_model(setup, budget, host, port, public, location=store, open_=open_)
        return
    if review:
        review_options = ReviewOptions(
            rubric, of_run, order, task or (), judged or (), sample, seed
        )
        _serve_review(review_options, host, port, public, store)
        return
    from kgbench.cli.messages import missing_package
    from kgbench.store import default_location, embedded_only
    from kgbench.vocab import BASE

    token = os.environ.get(TOKEN) or None if update else None
    if update and token is None:
        raise typer.BadParameter(
            f"updates need a token: set {TOKEN} to a long secret", param_hint="--update"
        )
    try:
        from kgbench.serve.settings import Limits, Settings
        from kgbench.serve.startup import host_names, start
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    if cors is not None and not ORIGIN.fullmatch(cors):
        message = f"{cors!r} is not an origin: give * or scheme and host, as https://example.org"
        raise typer.BadParameter(message, param_hint="--cors")
    location = store or default_location()
    if graph is None:
        embedded_only(location, "serving")
    limits = Limits(
        seconds=timeout, rows=rows, memory_bytes=memory << 20, heavy=heavy, quick=workers
    )
    settings = Settings(
        location=location,
        base=base or BASE,
        public=public,
        union=union,
        redirect=redirect,
        token=token,
        cors=cors,
        hosts=host_names(host, public),
        limits=limits,
        ahead=not mcp,
    )
    if mcp:
        _serve_tools(settings, graph, host, port, stdio=stdio)
        return
    start(settings, host, port)


def _refuse_without_effect(context: typer.Context) -> None:
    """Refuse options that have no effect without, or with, another option."""
    needed = (("review", OF_REVIEW), ("mcp", OF_TOOLS), ("text2sparql", OF_ANSWERS))
    for option, needing in needed:
        if not context.params[option]:
            _refuse_given(context, needing, f"it needs --{option}")
    for option, useless in USELESS.items():
        if context.params[option] not in (None, False):
            _refuse_given(context, useless, f"it cannot be used with --{option}")


def _refuse_given(context: typer.Context, names: frozenset[str], reason: str) -> None:
    """Refuse the options with these names that the command line gives, for ``reason``."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name in names and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(reason, param_hint=max(param.opts, key=len))


def _serve_tools(
    settings: Settings, graph: str | None, host: str, port: int, *, stdio: bool
) -> None:
    """Serve tools by the Model Context Protocol."""
    from kgbench.cli.messages import missing_package

    try:
        from kgbench.serve.mcp import startup
    except ModuleNotFoundError as error:
        raise missing_package(error, "mcp") from None
    if stdio:
        startup.over_stdio(settings, graph)
    else:
        startup.over_http(settings, graph, host, port)


def _serve_review(
    review_options: ReviewOptions, host: str, port: int, public: str | None, location: str | None
) -> None:
    """Serve the pages on which people judge stored dialogues."""
    from kgbench.cli.messages import count, missing_package
    from kgbench.judges.dialogues import newest_judgeable_run
    from kgbench.judges.planning import JudgingRequest
    from kgbench.judges.rubrics import rubric
    from kgbench.record import reading
    from kgbench.run_selection import Selection
    from kgbench.store import default_location, embedded_only, open_existing
    from kgbench.store.publication_keys import publication_key

    try:
        from kgbench.serve.review.access import Access, new_key
        from kgbench.serve.review.application import application
        from kgbench.serve.review.queue import ReviewQueue
        from kgbench.serve.settings import Settings
        from kgbench.serve.startup import host_names, run, server
    except ModuleNotFoundError as error:
        raise missing_package(error, "serve") from None
    selection = Selection(tuple(review_options.tasks), tuple(review_options.judged))
    judging = JudgingRequest(
        rubric(review_options.rubric), selection, review_options.sample, review_options.seed
    )
    store_location = location or default_location()
    with open_existing(str(embedded_only(store_location, "reviewing"))) as store:
        judged_run = (
            newest_judgeable_run(store)
            if review_options.run is None
            else reading.find_run(store, review_options.run)
        )
        queue = ReviewQueue(store, judged_run, judging, review_options.order)
        # From a key that never leaves the store, so that pseudonyms outlast this server.
        secret = publication_key(store.location).tag("review", "")
        access = Access(os.environ.get(REVIEW_KEY) or new_key(), public, secret)
        root = f"{public.rstrip('/')}/" if public else "{url}"
        personal = [
            f"only for {name}  {root}{access.personal_link(name)}\n" for name in queue.reviewers
        ]
        settings = Settings(location=store_location, hosts=host_names(host, public))
        banner = (
            f"reviewing {judged_run.id} ({judged_run.label}) by {review_options.rubric}: "
            f"{count(len(queue.entries), 'item')}, {review_options.order}\n"
            f"open  {root}?key={access.key}\n"
            "Anybody with this link can judge; Ctrl-C ends the review.\n"
            f"{''.join(personal)}"
        )
        run(server(settings, application(settings, queue, access)), banner, host, port)
