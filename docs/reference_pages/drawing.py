# SPDX-License-Identifier: Apache-2.0
"""Two drawings in SVG: the vocabulary, and what a store holds of one answer.

Boxes stand on a grid; which edges are drawn is written here, and tests compare them with the
ontology and with the graphs of a run.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

CELL = (252, 96)
BOX = (150, 36)
MARGIN = 32
LETTER = 5.6  # the width of a letter of a label, about
STYLE = """\
.ground { fill: #ffffff }
.zone { fill: #f3f6f9; stroke: #c3cfdb }
.box { fill: #ffffff; stroke: #31597c; stroke-width: 1.4 }
.edge { stroke: #5b6b7a; stroke-width: 1.2 }
.head { fill: #5b6b7a }
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #14212e; text-anchor: middle }
.name { font-weight: 600 }
.label { font-size: 11px; fill: #3d4c5a }
.label { paint-order: stroke; stroke: #f3f6f9; stroke-width: 4px }
.title { font-size: 12px; fill: #31597c; text-anchor: start }
@media (prefers-color-scheme: dark) {
.ground { fill: #10181f }
.zone { fill: #1a2530; stroke: #3c5063 }
.box { fill: #10181f; stroke: #7fb0d8 }
.edge { stroke: #8797a5 }
.head { fill: #8797a5 }
text { fill: #e6edf3 }
.label { fill: #c3cfda; stroke: #1a2530 }
.title { fill: #9cc6ea }
}
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)


class Edge(NamedTuple):
    """An arrow between two boxes, named by a property."""

    start: str
    label: str
    end: str


class Zone(NamedTuple):
    """A frame around cells of the grid: its title, first and last column, last row."""

    title: str
    first: int
    last: int
    rows: int


#: Where the classes of the vocabulary stand: column and row.
VOCABULARY = {
    "Parameter": (0, 0),
    "LabelledTask": (1, 0),
    "Setting": (2, 0),
    "Invalidation": (3, 2),
    "ScoreSet": (5, 0),
    "Metric": (0, 1),
    "TaskClass": (1, 1),
    "Task": (2, 1),
    "TaskExecution": (3, 1),
    "Model": (4, 1),
    "ScoreSelector": (5, 1),
    "Suite": (0, 2),
    "Case": (1, 2),
    "Dialogue": (2, 2),
    "dqv:Dimension": (4, 2),
    "Compass": (5, 2),
    "skos:Concept": (1, 3),
    "Evaluation": (2, 3),
    "ModelCall": (3, 3),
    "Batch": (4, 3),
    "Session": (0, 4),
    "Price": (1, 4),
    "Prompt": (2, 4),
    "Text": (3, 4),
    "Answer": (4, 4),
}
VOCABULARY_EDGES = (
    Edge("TaskClass", "parameter", "Parameter"),
    Edge("TaskClass", "metric", "Metric"),
    Edge("TaskClass", "labelledTask", "LabelledTask"),
    Edge("LabelledTask", "setting", "Setting"),
    Edge("Task", "taskClass", "TaskClass"),
    Edge("Case", "taskClass", "TaskClass"),
    Edge("Case", "suite", "Suite"),
    Edge("TaskExecution", "task", "Task"),
    Edge("TaskExecution", "model", "Model"),
    Edge("Dialogue", "task", "Task"),
    Edge("Dialogue", "case", "Case"),
    Edge("Dialogue", "model", "Model"),
    Edge("Invalidation", "invalidates", "Dialogue"),
    Edge("Evaluation", "dialogue", "Dialogue"),
    Edge("Evaluation", "outcome", "skos:Concept"),
    Edge("ModelCall", "batch", "Batch"),
    Edge("ModelCall", "reusedAnswer", "Answer"),
    Edge("Prompt", "text", "Text"),
    Edge("Answer", "text", "Text"),
    Edge("Session", "price", "Price"),
    Edge("ScoreSet", "scoreSelector", "ScoreSelector"),
    Edge("Compass", "axis", "dqv:Dimension"),
    Edge("dqv:Dimension", "scoreSelector", "ScoreSelector"),
)

#: Where the things that a store holds of one answer stand.
RESULT = {
    "TaskClass": (0, 0),
    "Task": (0, 1),
    "Case": (0, 2),
    "Suite": (0, 3),
    "Model": (0, 4),
    "Configuration": (1, 0),
    "Session": (2, 0),
    "TaskExecution": (1, 1),
    "Run": (2, 1),
    "Dialogue": (1, 2),
    "ModelCall": (1, 3),
    "Answer": (2, 3),
    "Prompt": (1, 4),
    "Text": (2, 4),
    "EvaluationPass": (3, 2),
    "Evaluation": (3, 3),
    "xsd:double": (3, 4),
}
RESULT_EDGES = (
    Edge("Task", "kgb:taskClass", "TaskClass"),
    Edge("Case", "kgb:suite", "Suite"),
    Edge("Session", "prov:used", "Configuration"),
    Edge("Session", "dcterms:isPartOf", "Run"),
    Edge("TaskExecution", "dcterms:isPartOf", "Run"),
    Edge("TaskExecution", "kgb:task", "Task"),
    Edge("Dialogue", "dcterms:isPartOf", "TaskExecution"),
    Edge("Dialogue", "kgb:case", "Case"),
    Edge("Dialogue", "kgb:model", "Model"),
    Edge("ModelCall", "dcterms:isPartOf", "Dialogue"),
    Edge("ModelCall", "prov:used", "Prompt"),
    Edge("Answer", "prov:wasGeneratedBy", "ModelCall"),
    Edge("Prompt", "kgb:text", "Text"),
    Edge("Answer", "kgb:text", "Text"),
    Edge("EvaluationPass", "prov:wasInformedBy", "Run"),
    Edge("Evaluation", "prov:wasGeneratedBy", "EvaluationPass"),
    Edge("Evaluation", "prov:wasDerivedFrom", "Answer"),
    Edge("Evaluation", "kgb:dialogue", "Dialogue"),
    Edge("Evaluation", "a metric", "xsd:double"),
)
ZONES = (
    Zone("the catalogue graph", 0, 0, 4),
    Zone("the graph of the run", 1, 2, 4),
    Zone("the graph of the pass", 3, 3, 4),
)


def vocabulary() -> str:
    """Return the classes of the vocabulary with the properties between them, as SVG."""
    return _drawn(VOCABULARY, VOCABULARY_EDGES, (), "Classes and properties of the vocabulary")


def result_graph() -> str:
    """Draw the recorded resources of one answer, by named graph, as SVG."""
    return _drawn(RESULT, RESULT_EDGES, ZONES, "What a store holds of one answer")


def _drawn(
    places: dict[str, tuple[int, int]],
    edges: tuple[Edge, ...],
    zones: tuple[Zone, ...],
    title: str,
) -> str:
    columns, rows = (max(place[axis] for place in places.values()) + 1 for axis in (0, 1))
    width, height = columns * CELL[0] + 2 * MARGIN, rows * CELL[1] + 2 * MARGIN
    middles = {name: _middle(*place) for name, place in places.items()}
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{escape(title)}">'
        ),
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        HEAD,
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
    ]
    parts += [_zone(zone) for zone in zones]
    parts += [_arrow(middles[edge.start], middles[edge.end]) for edge in edges]
    parts += [_label(middles[edge.start], middles[edge.end], edge.label) for edge in edges]
    parts += [_box(name, middle) for name, middle in middles.items()]
    return "\n".join([*parts, "</svg>\n"])


def _middle(column: int, row: int) -> tuple[float, float]:
    return MARGIN + (column + 0.5) * CELL[0], MARGIN + (row + 0.5) * CELL[1]


def _zone(zone: Zone) -> str:
    left = MARGIN + zone.first * CELL[0] + 8
    width = (zone.last - zone.first + 1) * CELL[0] - 16
    height = (zone.rows + 1) * CELL[1] + 16
    return (
        f'<rect class="zone" x="{left}" y="{MARGIN - 14}" '
        f'width="{width}" height="{height}" rx="10"/>'
        f'<text class="title" x="{left + 12}" y="{MARGIN + 6}">{escape(zone.title)}</text>'
    )


def _box(name: str, middle: tuple[float, float]) -> str:
    x, y = middle[0] - BOX[0] / 2, middle[1] - BOX[1] / 2
    shown = name if ":" in name else f"kgb:{name}"
    return (
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{BOX[0]}" height="{BOX[1]}" rx="6"/>'
        f'<text class="name" x="{middle[0]:g}" y="{middle[1] + 4.5:g}">{escape(shown)}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = _border(start, end), _border(end, start)
    return (
        f'<line class="edge" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        'marker-end="url(#head)"/>'
    )


def _label(start: tuple[float, float], end: tuple[float, float], words: str) -> str:
    (x1, y1), (x2, y2) = _border(start, end), _border(end, start)
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    level = abs(y1 - y2) < 1
    upright = abs(x1 - x2) < 1
    if level:  # above the arrow where there is room between the boxes, else below them
        y += -6 if len(words) * LETTER <= CELL[0] - BOX[0] else 32
        return f'<text class="label" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'
    anchor = ' style="text-anchor: start"' if upright else ""
    return (
        f'<text class="label" x="{x + (6 if upright else 0):.1f}" y="{y + 4:.1f}"{anchor}>'
        f"{escape(words)}</text>"
    )


def _border(inside: tuple[float, float], outside: tuple[float, float]) -> tuple[float, float]:
    """Return the point where the line between two centres leaves the box around the first."""
    dx, dy = outside[0] - inside[0], outside[1] - inside[1]
    share = min(
        BOX[0] / 2 / abs(dx) if dx else 1.0,
        BOX[1] / 2 / abs(dy) if dy else 1.0,
    )
    return inside[0] + dx * share, inside[1] + dy * share
