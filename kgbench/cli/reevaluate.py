# SPDX-License-Identifier: Apache-2.0
"""``kgbench reevaluate`` and ``kgbench invalidate``: judge stored dialogues again, or exclude some.

No model is called again. What is invalidated is excluded from all analyses, with author, time and
reason.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, progress, report
from kgbench.variants import VariantKind

if TYPE_CHECKING:
    from kgbench.reevaluation.comparison import ReevaluationResult
    from kgbench.reevaluation.tool_audit import Audit
    from kgbench.tables import Table


def _policy(name: str | None) -> str | None:
    from kgbench.errors import QueryError
    from kgbench.policies.policy import policy

    try:
        return None if name is None else policy(name).name
    except QueryError as error:
        raise typer.BadParameter(str(error)) from None


def reevaluate(  # noqa: PLR0917 - a command line has many options
    run: options.EveryRun = None,
    task: options.TaskGlobs = None,
    model: options.ModelGlobs = None,
    engine: options.Engine = "oxigraph",
    endpoint: options.Endpoint = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare query results by a declared policy: rows, llm-kg-bench, "
            "text2sparql-2025, spinach, grasp or qald-macro.",
            callback=_policy,
        ),
    ] = None,
    variants: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=1,
            max=1000,
            help="Also judge query results on K variants of each graph.",
        ),
    ] = None,
    seed: Annotated[
        int,
        options.rarer(
            "Judging",
            min=0,
            help="Seed of the first variant; further variants use the next numbers.",
        ),
    ] = 0,
    kind: Annotated[
        list[VariantKind] | None,
        options.rarer(
            "Judging",
            help="How variants differ from the graph; repeatable, K of each. Default: shuffled.",
        ),
    ] = None,
    audit_tools: Annotated[
        bool,
        typer.Option(
            "--audit-tools",
            help="Instead, execute recorded tool calls again and report differences.",
        ),
    ] = False,
    executor: options.Executor = "local",
    against: Annotated[
        str | None,
        options.rarer("Judging", metavar="PASS", help="Compare with this pass. Default: first."),
    ] = None,
    timeout: Annotated[
        float,
        options.rarer("Limits", min=0.1, help="Time limit for judging one answer, in seconds."),
    ] = 30.0,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Judge stored dialogues again in a new evaluation pass, and report differences."""
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.on_variants import Variants
    from kgbench.execution.pools import executor as make_executor
    from kgbench.policies.policy import ON_VARIANTS
    from kgbench.reevaluation import comparison
    from kgbench.reevaluation.passes import reevaluate_stored
    from kgbench.reevaluation.tool_audit import audit
    from kgbench.run_selection import Selection
    from kgbench.store import open_existing, open_reader

    needs_number = "it needs the number of variants: --variants K"
    for wrong, flag, why in (
        (variants and policy, "--variants", "variants are compared by whole rows: omit --policy"),
        (
            variants and endpoint,
            "--variants",
            "variants need local graphs, which an endpoint does not provide: omit --endpoint",
        ),
        (policy == ON_VARIANTS, "--policy", needs_number),
        (kind and variants is None, "--kind", needs_number),
        (
            audit_tools and (policy or endpoint or variants or against),
            "--audit-tools",
            "an audit does not judge: omit --policy, --endpoint, --variants and --against",
        ),
    ):
        if wrong:
            raise typer.BadParameter(why, param_hint=flag)
    chosen = Selection(tuple(task or ()), tuple(model or ()))
    if audit_tools:
        with (
            open_reader(store) as reader,
            make_executor(executor) as pool,
            progress("executing", None, quiet=json_) as advance,
        ):
            limits = JudgeLimits(seconds=timeout, engine=engine)
            result = audit(reader, pool, limits, run=run, selection=chosen, watch=advance)
        report(result.report(), _of_audit(result), json_=json_)
        return
    wanted_variants = None
    if variants is not None:
        kinds = tuple(dict.fromkeys(kind or [VariantKind.SHUFFLED]))
        wanted_variants = Variants(variants, seed, kinds)
    with (
        open_existing(store) as opened,
        make_executor(executor) as pool,
        progress("judging", None, quiet=json_) as advance,
    ):
        results = reevaluate_stored(
            opened,
            pool,
            JudgeLimits(seconds=timeout, engine=engine, policy=policy),
            run=run,
            selection=chosen,
            against=against or "first",
            endpoint=endpoint,
            variants=wanted_variants,
            watch=advance,
        )
    report(comparison.report(results), _of_passes(results), json_=json_)


def _of_audit(audit: Audit) -> Iterator[str]:
    from kgbench.characters import one_line

    yield f"{count(audit.calls, 'tool call')} executed again, {audit.agree:,} as recorded"
    for difference in audit.differ:
        yield (
            f"{difference['class']:<13} {difference['tool']} {difference['dialogue']} (answer "
            f"{difference['round']}, call {difference['index']}): recorded "
            f"{difference['recorded']}, now {difference['now']}"
        )
    for (tool, reason), times in sorted(audit.aside.items()):
        yield f"{count(times, 'call')} of {one_line(tool) or 'no tool'} kept aside: {reason}"


def _of_passes(results: list[ReevaluationResult]) -> Iterator[str | Table]:
    from kgbench.analysis.passes import changes
    from kgbench.analysis.policies import on_variants
    from kgbench.reevaluation.comparison import merge_comparisons, passed_over

    combined = merge_comparisons(results)
    yield changes(combined)
    yield (
        f"{count(combined.dialogues, 'dialogue')} judged again, {len(combined.differing):,} differ "
        "from the pass they were compared with"
    )
    if on_variants_answers := [answer for result in results for answer in result.on_variants]:
        yield on_variants(on_variants_answers)
    for kind, times in combined.causes().items():
        yield f"{times:,} {kind}"
    if combined.new_metrics:
        yield f"new in this pass: {', '.join(sorted(combined.new_metrics))}"
    for reason, times in passed_over(results).items():
        yield f"{count(times, 'dialogue')} left out: {reason}"
    recorded = [result.evaluation_pass for result in results if result.is_recorded]
    for evaluation_pass in recorded:
        yield f"pass   {evaluation_pass}"
    if empty := len(results) - len(recorded):
        yield f"no new pass for {count(empty, 'run')}: no dialogue could be judged"


def invalidate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN|DIALOGUE",
            help="A run's id, IRI or label, or a dialogue's IRI.",
            autocompletion=options.complete_runs,
        ),
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why the results must not count.")],
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your name. Default: the login name.")
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Invalidate the results of a run or a dialogue.

    The results stay recorded, but no analysis counts them. `kgbench run --redo-invalidated` runs
    the dialogues again.
    """
    from kgbench.record import invalidation
    from kgbench.store import open_existing

    with open_existing(store) as opened:
        result = invalidation.invalidate(
            opened, name, reason, by or getpass.getuser(), person=by is not None
        )
    left_out = f"{count(result.dialogues, 'dialogue')} with {result.results:,} answers"
    lines = (f"invalidated {left_out} and evaluations", f"recorded as {result.iri}")
    report(result._asdict(), lines, json_=json_)
