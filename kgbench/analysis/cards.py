# SPDX-License-Identifier: Apache-2.0
"""Model cards: the results of one model in Markdown and HTML, with links to the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgbench.analysis import counting
from kgbench.analysis import scores as fetch
from kgbench.analysis.compass import Compass, compass_of, compass_table
from kgbench.analysis.declarations import ScoreSet
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.outcomes import of_answers
from kgbench.analysis.rendering import (
    as_markdown,
    format_value,
    html_rows,
    html_text,
    markdown_text,
)
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.store.protocol import Store

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}"
    "th,td{border-bottom:1px solid #ccc;padding:.25rem .5rem;text-align:right}"
    "th:first-child,td:first-child{text-align:left}img{max-width:100%}"
)


@dataclass(frozen=True, slots=True)
class Card:
    """A model card.

    ``facts`` are titles and texts about the model and its rank, ``figures`` the names of image
    files, and ``evidence`` titles and IRIs of the runs and passes that the numbers come from.
    """

    model: fetch.ModelInfo
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    figures: tuple[str, ...]
    evidence: tuple[tuple[str, str], ...]


def card(
    store: Store,
    selection: Selection,
    name: str,
    *,
    combined: ScoreSet | None = None,
    axes: Compass | None = None,
    figures: Sequence[str] = (),
) -> Card:
    """Make the card of the model with this name, id or IRI.

    It has the model's row of the leaderboard, its compass where the store has scores for one, its
    scores by task, the outcomes of its answers, and the runs and passes they come from.
    ``combined`` is the score set of the leaderboard, ``axes`` the compass; both have defaults.
    Raises :class:`~kgbench.errors.QueryError` for a model that is unknown or has no results.
    """
    model = fetch.models(store).find(name)
    board = leaderboard(store, selection, combined)
    row_of_model = next((row for row in board.records() if row["model"] == model.name), None)
    if row_of_model is None:
        raise QueryError(f"'{model.name}' has no results in suite '{selection.suite_name}'")
    columns = {column.name: column for column in board.columns}
    facts = [("Model", model.id), ("IRI", model.iri), ("Suite", selection.suite_name)]
    facts += [
        (column.title, format_value(row_of_model[name], column))
        for name, column in columns.items()
        if name != "model"
    ]
    facts.append(("Models on the leaderboard", str(len(board.rows))))
    tables = [_compass(store, selection, model, axes or compass_of(selection.suite))]
    tables.append(_only(task_scores(store, selection, models=model.id), model.name))
    tables.append(_outcomes(store, selection, model))
    return Card(
        model=model,
        facts=tuple(facts),
        tables=tuple(table for table in tables if table is not None and table.rows),
        figures=tuple(figures),
        evidence=tuple(_evidence(store, selection, model)),
    )


def _compass(
    store: Store, selection: Selection, model: fetch.ModelInfo, axes: Compass
) -> Table | None:
    try:
        return _only(compass_table(store, selection, axes), model.name)
    except QueryError:
        return None  # a suite without the tasks of this compass


def _only(table: Table, model: str) -> Table:
    """Return the rows of one model, without the column of model names."""
    index = table.names.index("model")

    def without(row: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(value for k, value in enumerate(row) if k != index)

    return Table(
        title=table.title,
        columns=tuple(c for k, c in enumerate(table.columns) if k != index),
        rows=tuple(without(row) for row in table.rows if row[index] == model),
        notes=table.notes,
        queries=table.queries,
        context=table.context,
    )


def _outcomes(store: Store, selection: Selection, model: fetch.ModelInfo) -> Table:
    counts: Counter[str] = Counter()
    for of_task in of_answers(store, selection, model.iri).values():
        counts += of_task
    total = sum(counts.values())
    return Table(
        title="Outcomes of answers",
        columns=(
            Column("outcome", "Outcome"),
            Column("count", "Answers", Kind.COUNT),
            Column("share", "Share", Kind.SHARE),
        ),
        rows=tuple(
            (name, count, count / total)
            for name, count in sorted(counts.items(), key=lambda item: -item[1])
        ),
        queries=counting.OUTCOMES,
    )


def _evidence(store: Store, selection: Selection, model: fetch.ModelInfo) -> list[tuple[str, str]]:
    """List the passes with selected scores of the model, and the runs that they judged."""
    links: list[tuple[str, str]] = []
    for iri, graph, kind, started, run, _, _ in queries.rows(store, "list-passes"):
        if graph in selection.pass_graphs and any(
            counting.outcomes(store, [str(graph)], model=model.iri)
        ):
            links.append((f"run, judged {kind} {started}", str(run)))
            links.append((f"evaluation pass ({kind})", str(iri)))
    return links


def as_markdown_card(model_card: Card) -> str:
    """Render a card as Markdown."""
    parts = [f"# {markdown_text(model_card.model.name)}", ""]
    parts += [
        f"- {markdown_text(title)}: {markdown_text(value)}" for title, value in model_card.facts
    ]
    parts += ["", *(f"![{figure}]({figure})" for figure in model_card.figures), ""]
    parts += [as_markdown(table) for table in model_card.tables]
    parts += ["**Evidence**", ""]
    parts += [f"- {markdown_text(title)}: <{iri}>" for title, iri in model_card.evidence]
    return "\n".join(parts) + "\n"


def as_html_card(model_card: Card) -> str:
    """Render a card as one HTML page without scripts; all recorded text is escaped."""
    name = html_text(model_card.model.name)
    body = [f"<h1>{name}</h1>", "<dl>"]
    body += [
        f"<dt>{html_text(title)}</dt><dd>{html_text(value)}</dd>"
        for title, value in model_card.facts
    ]
    body.append("</dl>")
    body += [f'<p><img src="{html_text(f)}" alt="{html_text(f)}"></p>' for f in model_card.figures]
    for table in model_card.tables:
        body.append(f"<h2>{html_text(table.title)}</h2>")
        body.append(f"<table>{html_rows(table)}</table>")
    links = "".join(
        f'<li>{html_text(title)}: <a href="{html_text(iri)}">{html_text(iri)}</a></li>'
        for title, iri in model_card.evidence
    )
    body.append(f"<h2>Evidence</h2><ul>{links}</ul>")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{name}</title><style>{_STYLE}</style></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )
