# SPDX-License-Identifier: Apache-2.0
"""``kgbench status``: show which dialogues of a run are complete, failed or missing, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, echo_visible, report

if TYPE_CHECKING:
    from kgbench.engine.explaining import Reason
    from kgbench.record.reading import RunInfo
    from kgbench.store.protocol import Store

_SHOWN = 20


def status(  # noqa: PLR0917 - a command line has many options
    run: options.EveryRun = None,
    explain: Annotated[
        bool,
        typer.Option("--why", help="List the dialogues that would run (again), with the reason."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="CONFIG",
            help="With --why: the configuration to compare with. Default: that of the run.",
        ),
    ] = None,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Show the progress and cost of runs, and why dialogues are open."""
    from kgbench.engine.replies import count_unstored
    from kgbench.record import accounts, reading
    from kgbench.scores.selectors import left_out
    from kgbench.store import open_reader

    if config is not None and not explain:
        raise typer.BadParameter("it needs --why", param_hint="--config")
    with open_reader(store) as opened:
        runs = reading.runs(opened) if run is None else [reading.find_run(opened, run)]
        if explain and runs:
            runs = runs[:1]
        received = count_unstored(opened)
        progress = accounts.progress(opened, [info.graph for info in runs])
        states = [
            {
                **_state(opened, info, progress[info.iri]),
                "waiting": received.pop(info.iri, 0),
            }
            for info in runs
        ]
        notes = left_out(opened)
        if run is None and received and not explain:
            notes.append(
                f"{count(received.total(), 'reply', 'replies')} in the reply log of runs "
                "that the store does not show yet; `kgbench run` takes them up"
            )
        if explain:
            for state, info in zip(states, runs, strict=True):
                state["why"] = [asdict(reason) for reason in _reasons(opened, info, config)]
    lines = [line for state in states for line in _lines(state)]
    report(states, lines or ["The store has no runs yet."], json_=json_)
    for note in () if json_ else notes:
        echo_visible(note, err=True)


def _reasons(store: Store, run: RunInfo, config: Path | None) -> list[Reason]:
    from kgbench import config as configurations
    from kgbench.engine import explaining

    plan = explaining.stored_plan(store, run) if config is None else configurations.load(config)
    return list(explaining.reasons(store, run, plan))


def _state(
    store: Store, run: RunInfo, progress: dict[tuple[str, str], Counter[str]]
) -> dict[str, Any]:
    """Return the state of a run, whose dialogues are counted in ``progress``, as a JSON object."""
    from kgbench.analysis.run_results import identity_changes
    from kgbench.analysis.run_totals import catalogue_models, totals
    from kgbench.rdf import queries
    from kgbench.record import invalidation

    models = {iri: model.label for iri, model in catalogue_models(store).items()}
    counts: dict[str, Counter[str]] = {}
    for (model, _), by_state in progress.items():
        of_model = counts.setdefault(
            models.get(model, model), Counter(complete=0, open=0, invalid=0)
        )
        of_model.update(by_state)
    sessions = queries.rows(store, "run-sessions", runGraph=run.graph)
    failures = queries.rows(store, "open-failures", runGraph=run.graph)
    batches = queries.rows(store, "run-batches", runGraph=run.graph)
    complete = sum(entry["complete"] for entry in counts.values())
    open_ = sum(entry["open"] for entry in counts.values())
    # The last session may have planned less than earlier ones held.
    planned = max(int(sessions[-1][4] or 0), complete + open_) if sessions else complete
    invalid = sum(entry["invalid"] for entry in counts.values())
    unrepeated = invalidation.unrepeated(store, run.graph) if invalid else 0
    return {
        "run": run.iri,
        "label": run.label,
        "suite": run.suite.rpartition("/")[2],
        "started": run.started.isoformat(),
        "sessions": len(sessions),
        "interrupted_sessions": sum(ended is None for _, _, _, ended, _ in sessions),
        "planned": planned,
        "complete": complete,
        "open": open_,
        "missing": max(0, planned - complete),
        "not_begun": max(0, planned - complete - open_ - unrepeated),
        "invalid": invalid,
        "invalid_to_repeat": unrepeated,
        "models": counts,
        "outcomes": _outcomes(store, run, models),
        "batches": [
            {
                "batch": batch,
                "model": models.get(str(model)),
                "id": batch_id,
                "requests": int(requests or 0),
                "since": begun,
            }
            for batch, model, begun, ended, requests, batch_id, _ in batches
            if ended is None
        ],
        "totals": totals(store, run),
        "changes": identity_changes(store, run),
        "failures": [
            {"model": models.get(str(model)), "error": error, "calls": int(count or 0)}
            for model, _, error, count in failures
        ],
    }


def _outcomes(
    store: Store, run: RunInfo, models: Mapping[str, str]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the outcomes of each model's answers in the first pass: their number and rate.

    An answer that was cut off and cannot be parsed counts under both outcomes.
    """
    from kgbench.analysis.outcomes import Ending, answer_endings, by_fact
    from kgbench.record import reading

    counts: dict[str, Counter[Ending]] = {}
    of_run = (
        evaluation_pass
        for evaluation_pass in reading.passes(store, run)
        if evaluation_pass.kind != "reevaluation"
    )
    for evaluation_pass in islice(of_run, 1):
        for (model, _), endings in answer_endings(store, [evaluation_pass.graph]).items():
            counts.setdefault(models.get(model, model), Counter()).update(endings)
    return {
        model: {
            name: {"answers": number, "rate": number / endings.total()}
            for name, number in by_fact(endings).most_common()
        }
        for model, endings in counts.items()
    }


def _lines(state: dict[str, Any]) -> Iterator[str]:
    from kgbench.cli.run_report import totals_line

    interrupted = state["interrupted_sessions"]
    cut_off = f" ({interrupted} without an end)" if interrupted else ""
    yield f"{state['label']}  {state['run']}"
    yield (
        f"  suite {state['suite']}, begun {_moment(state['started'])}, "
        f"{count(state['sessions'], 'session')}{cut_off}"
    )
    yield (
        f"  {state['complete']:,} of {count(state['planned'], 'dialogue')} complete, "
        f"{state['open']:,} open{_absent(state)}"
    )
    if state["open"] or state["not_begun"]:
        yield (
            "  unless the run is under way, repeat its command to continue it "
            "(reasons: kgbench status --why)"
        )
    if state["waiting"]:
        yield (
            f"  {count(state['waiting'], 'reply', 'replies')} in the reply log and not in the "
            "store yet; the run stores them, now or when it continues, without asking again"
        )
    if state["invalid"]:
        invalid = count(state["invalid"], "dialogue")
        yield f"  {invalid} invalidated and not counted{_repeated(state)}"
    yield f"  {totals_line(state['totals'])}"
    for model, counts in state["models"].items():
        yield f"    {model}: {counts['complete']:,} complete, {counts['open']:,} open"
        by_outcome = state["outcomes"].get(model, {})
        outcomes = [
            f"{name} {entry['answers']:,} ({100 * entry['rate']:.1f} %)"
            for name, entry in by_outcome.items()
        ]
        if outcomes:
            yield f"      answers: {', '.join(outcomes)}"
    for change in state["changes"]:
        yield f"    {change}"
    for batch in state["batches"]:
        name = batch["id"] or "not confirmed by the provider"
        yield (
            f"    batch under way: {batch['model']}, {batch['requests']} requests since "
            f"{batch['since']} ({name}); kgbench run --batch collects it"
        )
    for failure in state["failures"][:10]:
        yield f"    {failure['calls']} x {failure['model']}: {failure['error']}"
    if "why" in state:
        yield from _why(state["why"])


def _absent(state: dict[str, Any]) -> str:
    """Return in words how many planned dialogues are neither complete nor open, and why."""
    states = ((state["invalid_to_repeat"], "invalidated"), (state["not_begun"], "not begun"))
    return "".join(f", {number:,} {name}" for number, name in states if number)


def _repeated(state: dict[str, Any]) -> str:
    """Return in words whether invalidated dialogues were begun again; imports never are."""
    if not state["sessions"]:
        return ""
    number = state["invalid_to_repeat"]
    return f"; kgbench run --redo-invalidated repeats {number:,}" if number else "; all repeated"


def _moment(text: str) -> str:
    """Format a time to the second, in UTC."""
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _why(reasons: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the reasons, with equal ones on one line."""
    invalid = sum(reason["why"] == "invalidated" for reason in reasons)
    if invalid:
        number = count(invalid, "dialogue")
        yield f"  {number} invalidated: run again with --redo-invalidated."
    reasons = [reason for reason in reasons if reason["why"] != "invalidated"]
    if not reasons:
        rest = "every other" if invalid else "every"
        yield f"  Nothing to run: {rest} planned dialogue is complete."
        return
    yield f"  {count(len(reasons), 'dialogue')} would run:"
    groups = Counter((_words(reason), reason["model"], reason["task"]) for reason in reasons)
    for (words, model, task), times in groups.most_common(_SHOWN):
        yield f"    {times} x {task}, {model}: {words}"
    if len(groups) > _SHOWN:
        yield f"    and {len(groups) - _SHOWN} more kinds; --json lists every dialogue"


def _words(reason: dict[str, Any]) -> str:
    if reason["why"] != "changed":
        detail = f": {reason['detail']}" if reason["detail"] else ""
        return f"{reason['why']}{detail}"
    return "; ".join(_change(change) for change in reason["changes"]) or "changed"


def _change(change: dict[str, Any]) -> str:
    """Describe a changed ingredient; prompts and cases are too long to show."""
    if change["ingredient"] in ("prompt", "case"):
        return f"the {change['ingredient']} changed"
    return f"{change['ingredient']} was {_short(change['before'])}, is {_short(change['after'])}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text.removeprefix("https://w3id.org/kgbench/")
