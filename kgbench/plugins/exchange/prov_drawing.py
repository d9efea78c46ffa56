# SPDX-License-Identifier: Apache-2.0
"""Draws the provenance of a dialogue step by step, or of a run by its parts.

Needs no program besides Python: SVG is written as text, PNG by matplotlib.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from html import escape

from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.pages.drawing import HIGH, WIDE, Arrow, Drawing, Node, of_dialogue
from kgbench.vocab import KGB, PROV, RDFS, SCHEMA

_COLOURS = {"entity": "#fff9d6", "activity": "#dfe4ff", "agent": "#fde3c8"}
_STEP_X, _STEP_Y = 260, 70
_LONGEST = 24  # characters in a box
_SCALE = 100.0  # pixels to an inch


def drawing(run: OutgoingRun) -> Drawing:
    """Draw the exported dialogue, or else the whole run."""
    return _of_run(run) if run.dialogue is None else of_dialogue(run.found, run.dialogue)


def _of_run(run: OutgoingRun) -> Drawing:
    """Draw columns from left to right: agents, configurations, the run, its parts, models."""
    nodes: list[Node] = []
    arrows: list[Arrow] = []
    rows: Counter[int] = Counter()

    def box(column: int, kind: str, text: str, iri: str) -> Node:
        node = Node(10 + column * _STEP_X, 10 + rows[column] * _STEP_Y, kind, text, iri)
        rows[column] += 1
        nodes.append(node)
        return node

    def arrow(start: Node, end: Node, text: str) -> None:
        forwards = end.x > start.x
        x1, x2 = (start.x + WIDE, end.x) if forwards else (start.x, end.x + WIDE)
        arrows.append(Arrow(x1, start.y + HIGH // 2, x2, end.y + HIGH // 2, text))

    run_box = box(2, "activity", f"run {run.info.label}", run.info.iri)
    agents: dict[str, Node] = {}

    def agent(iri: str) -> Node:
        if iri not in agents:
            name = run.catalogue.value(iri, RDFS.label) or iri
            version = run.catalogue.value(iri, SCHEMA.softwareVersion) or ""
            agents[iri] = box(0, "agent", f"{name} {version}".strip(), iri)
        return agents[iri]

    for iri in run.statements.values(run.info.iri, PROV.wasAssociatedWith):
        arrow(run_box, agent(iri), "wasAssociatedWith")
    for session in run.statements.instances(KGB.Session):
        node = box(1, "activity", "session", session)
        software = run.statements.required(session, PROV.wasAssociatedWith)
        arrow(node, agent(software), "wasAssociatedWith")
        arrow(run_box, node, "hasPart")
    for plan in run.statements.instances(KGB.Configuration):
        box(1, "entity", "configuration", plan)
    counts = Counter(dialogue.model for dialogue in run.dialogues)
    for model in sorted(counts):
        label = run.catalogue.value(model, RDFS.label) or model
        name = box(4, "agent", label, model)
        part = box(3, "activity", f"{counts[model]} dialogues", model)
        arrow(part, run_box, "isPartOf")
        arrow(part, name, "wasAssociatedWith")
    for pass_ in run.passes:
        node = box(3, "activity", f"{pass_.kind} pass", pass_.iri)
        arrow(node, run_box, "wasInformedBy")
    width = 20 + 4 * _STEP_X + WIDE
    return Drawing(width, 20 + max(rows.values()) * _STEP_Y, nodes, arrows)


def svg(drawing_: Drawing) -> bytes:
    """Return a drawing as a standalone SVG document."""
    size = f'width="{drawing_.width}" height="{drawing_.height}"'
    view = f' viewBox="0 0 {drawing_.width} {drawing_.height}"'
    tip = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}{view}',
        ' font-family="sans-serif" font-size="12">',
        f'<defs><marker id="tip" {tip}><path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    lines += [
        f'<line x1="{a.x1}" y1="{a.y1}" x2="{a.x2}" y2="{a.y2}" stroke="#555" '
        f'marker-end="url(#tip)"><title>{escape(a.text)}</title></line>'
        for a in drawing_.arrows
    ]
    for node in drawing_.nodes:
        round_ = 3 if node.kind == "activity" else HIGH // 2
        lines.append(
            f'<g><title>{escape(_plain(node.iri))}</title><rect x="{node.x}" y="{node.y}" '
            f'width="{WIDE}" height="{HIGH}" rx="{round_}" fill="{_COLOURS[node.kind]}" '
            f'stroke="#333"/><text x="{node.x + WIDE // 2}" y="{node.y + HIGH // 2 + 4}" '
            f'text-anchor="middle">{escape(_short(node.text))}</text></g>'
        )
    return ("\n".join([*lines, "</svg>"]) + "\n").encode("utf-8")


def png(drawing_: Drawing) -> bytes:
    """Return a drawing as a PNG, by matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    figure = Figure(figsize=(drawing_.width / _SCALE, drawing_.height / _SCALE), dpi=_SCALE)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing_.width)
    axes.set_ylim(drawing_.height, 0)
    axes.axis("off")
    for a in drawing_.arrows:
        axes.annotate(
            "",
            xy=(a.x2, a.y2),
            xytext=(a.x1, a.y1),
            arrowprops={"arrowstyle": "->", "color": "#555"},
        )
    for node in drawing_.nodes:
        style = "square,pad=0" if node.kind == "activity" else "round,pad=0,rounding_size=18"
        axes.add_patch(
            FancyBboxPatch(
                (node.x, node.y), WIDE, HIGH, boxstyle=style, fc=_COLOURS[node.kind], ec="#333"
            )
        )
        axes.text(
            node.x + WIDE / 2,
            node.y + HIGH / 2,
            _plain(_short(node.text)).replace("$", r"\$"),
            ha="center",
            va="center",
            fontsize=8,
        )
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _short(text: str) -> str:
    line = _plain(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _plain(text: str) -> str:
    """Replace the characters that XML cannot represent."""
    return "".join(_visible(text))


def _visible(text: Iterable[str]) -> Iterable[str]:
    return (c if c.isprintable() and not "\ud800" <= c <= "\udfff" else "�" for c in text)
