# SPDX-License-Identifier: Apache-2.0
"""Templates, their filters, and coordinates of drawings: box plots, compasses and provenance.

Recorded text is always escaped and never becomes markup. Control characters and direction overrides
are shown as escapes, and only http and https IRIs become links.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pyoxigraph as ox
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from kgbench import __version__
from kgbench.characters import visible, xml_bytes
from kgbench.pages import score_tables
from kgbench.pages.highlighting import LONGEST_TEXT, code, escaped, message
from kgbench.pages.things import machine_time, moment
from kgbench.record.dialogues import StoredDialogues, call_order
from kgbench.store import fragments
from kgbench.vocab import KGB, PREFIXES, PROV, compact

BOX_WIDTH = 220
RADIUS = 110.0
_MARGIN = 4
STATIC = Path(__file__).parent / "static"
"""Style sheets and scripts of the pages; templates link them by ``asset(name)``."""
_TEMPLATES = Path(__file__).parent / "templates"
_SAFE_PATH = "/:@!$&'()*+,;=~-._%#"
_LONGEST_EMBEDDED = 200_000  # bytes of embedded JSON-LD
_LONGEST_CELL = 300
_STEERING = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_WITH_GRAPHS = ("nq", "trig")


class Box(NamedTuple):
    """A box plot of values from 0 to 1, as horizontal positions in pixels."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


def box(record: Mapping[str, Any]) -> Box | None:
    """Return the box of a row of task scores; ``None`` without values or outside 0 to 1."""
    names = ("minimum", "q1", "median", "q3", "maximum", "mean")
    numbers = [record[name] for name in names]
    if any(value is None or not 0 <= value <= 1 for value in numbers):
        return None
    return Box(*(round(_MARGIN + value * (BOX_WIDTH - 2 * _MARGIN), 1) for value in numbers))


class Spoke(NamedTuple):
    """An axis of a compass: its end, the position of its label, and its value."""

    label: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    value: float | None


def spokes(axes: Sequence[tuple[str, float | None]]) -> list[Spoke]:
    """Lay out the axes of a compass, clockwise from the top; the centre is (0, 0)."""
    result = []
    for index, (label, value) in enumerate(axes):
        angle = 2 * math.pi * index / max(len(axes), 1) - math.pi / 2
        x, y = math.cos(angle), math.sin(angle)
        anchor = "middle" if abs(x) < 0.3 else "start" if x > 0 else "end"  # noqa: PLR2004
        result.append(
            Spoke(
                label,
                round(x * RADIUS, 1),
                round(y * RADIUS, 1),
                round(x * (RADIUS + 10), 1),
                round(y * (RADIUS + 10) + 4, 1),
                anchor,
                value,
            )
        )
    return result


def outline(compass: Sequence[Spoke]) -> str:
    """Return an SVG path through the values of a compass.

    It joins the values of neighbouring axes, so that it is closed only where every axis has one.
    """
    places = [
        None if spoke.value is None else f"{spoke.x * spoke.value:.1f} {spoke.y * spoke.value:.1f}"
        for spoke in compass
    ]
    if places and all(places):
        return f"M{'L'.join(map(str, places))}Z"
    joined = zip(places, places[1:] + places[:1], strict=True)
    return "".join(f"M{a}L{b or a}" for a, b in joined if a)


class Node(NamedTuple):
    """A box of the provenance drawing; ``x`` and ``y`` are its upper left corner."""

    x: int
    y: int
    kind: str
    text: str
    iri: str


class Arrow(NamedTuple):
    """An arrow of the provenance drawing, labelled with its property."""

    x1: int
    y1: int
    x2: int
    y2: int
    text: str


class Drawing(NamedTuple):
    """A drawing of nodes and arrows with its size."""

    width: int
    height: int
    nodes: list[Node]
    arrows: list[Arrow]


WIDE, HIGH = 150, 40
_ARROW = '<line x1="{}" y1="{}" x2="{}" y2="{}" marker-end="url(#tip)"><title>{}</title></line>'
_NODE = (
    f'<a href="{{}}"><rect x="{{}}" y="{{}}" width="{WIDE}" height="{HIGH}" rx="{{}}" '
    'class="{}"/>'
    '<text x="{}" y="{}" text-anchor="middle">{}</text></a>'
)
_STEP_X, _STEP_Y = 215, 84


def of_dialogue(found: StoredDialogues, dialogue: str) -> Drawing:
    """Lay out the provenance of a dialogue, with the first evaluation of each answer."""
    parts = found.parts[dialogue]
    rows: dict[str | None, dict[str, str]] = defaultdict(dict)
    # What comes last stays: the last call, of which the answer is, and the first evaluation.
    for kind, iris in (
        ("prompt", parts.prompts),
        ("call", sorted(parts.calls, key=call_order)),
        ("evaluation", reversed(found.evaluations[dialogue])),
    ):
        for iri in iris:
            rows[found.value(iri, KGB.round)][kind] = iri
    for answer in parts.answers:
        call = found.value(answer, PROV.wasGeneratedBy) or ""
        rows[found.value(call, KGB.round)] |= {"call": call, "answer": answer}
    rows.pop(None, None)  # of the whole dialogue
    case, model = (found.value(dialogue, name) or "" for name in (KGB.case, KGB.model))
    in_order = sorted(rows.items(), key=lambda item: int(item[0] or 0))
    return provenance(case, model, [row for _, row in in_order])


def provenance(case: str, model: str, rounds: Sequence[Mapping[str, str]]) -> Drawing:
    """Lay out the provenance of a dialogue: case, then a row of nodes per round.

    ``rounds`` has IRIs under ``prompt``, ``call``, ``answer`` and ``evaluation``; missing ones are
    left out. Arrows point to the origin, as in PROV.
    """
    nodes = [Node(10, 10, "entity", "case", case), Node(10, 10 + _STEP_Y, "agent", "model", model)]
    arrows: list[Arrow] = []
    before = nodes[0]
    names = (
        ("prompt", "entity", "wasDerivedFrom"),
        ("call", "activity", "used"),
        ("answer", "entity", "wasGeneratedBy"),
        ("evaluation", "entity", "wasDerivedFrom"),
    )
    for row, iris in enumerate(rounds):
        y = 10 + row * _STEP_Y
        previous = before
        for column, (name, kind, relation) in enumerate(names, start=1):
            if name not in iris:
                continue
            node = Node(10 + column * _STEP_X, y, kind, f"{name} {row}", iris[name])
            nodes.append(node)
            arrows.append(_arrow(node, previous, relation))
            previous = node
            if name == "call":
                arrows.append(_arrow(node, nodes[1], "wasAssociatedWith"))
            if name == "answer":
                before = node
    width = 20 + 4 * _STEP_X + WIDE
    height = 20 + max(2, len(rounds)) * _STEP_Y
    return Drawing(width, height, nodes, arrows)


def _arrow(start: Node, end: Node, text: str) -> Arrow:
    if end.x < start.x:
        return Arrow(start.x, start.y + HIGH // 2, end.x + WIDE, end.y + HIGH // 2, text)
    return Arrow(start.x + WIDE // 2, start.y, end.x + WIDE // 2, end.y + HIGH, text)


def svg(drawing: Drawing, href: Callable[[str], str | None]) -> Markup:
    """Return the drawing as an SVG element; built without a template, since many pages have one.

    ``href`` returns the link to an IRI, or ``None``.
    """
    arrows = "".join(_ARROW.format(*arrow) for arrow in drawing.arrows)
    nodes = "".join(
        _NODE.format(
            escape(href(node.iri) or "#"),
            node.x,
            node.y,
            3 if node.kind == "activity" else HIGH // 2,
            node.kind,
            node.x + WIDE // 2,
            node.y + 25,
            node.text,
        )
        for node in drawing.nodes
    )
    size = f'width="{drawing.width}" height="{drawing.height}"'
    return Markup(  # noqa: S704 - links are escaped, everything else is constant
        f'<svg class="provenance" {size} viewBox="0 0 {drawing.width} {drawing.height}" '
        'role="group" aria-label="Provenance of the dialogue"><defs>'
        '<marker id="tip" viewBox="0 0 8 8" refX="8" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/>'
        f"</marker></defs>{arrows}{nodes}</svg>"
    )


class _TemplateCache(BytecodeCache):
    """Cache of compiled templates for all environments of this process."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a compiled template; jinja ignores it if the template has changed."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template."""
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _TemplateCache()


def environment(*folders: Path) -> Environment:
    """Return a jinja environment with the templates of ``folders`` and of this package.

    Templates in earlier folders take precedence. Every page is rendered with:

    * ``root``: the path of the root; ``base``: the base of IRIs;
    * ``href(iri)``: the link to an IRI, or ``None``; ``label(iri)``: its label;
    * ``document(iri, suffix)``: the URL of RDF about an IRI;
    * ``asset(name)``: the URL of a file in :data:`STATIC`;
    * ``ask(name, parameters)``: the URL of a declared query;
    * ``site``: ``navigation`` and ``footer`` (names and paths below the root), ``formats``
      (suffixes and media types), ``more`` (where to find more than a page shows), ``live`` (whether
      pages can follow running benchmarks) and ``revealing`` (whether pages can show reference
      answers).
    """
    templates = Environment(
        loader=FileSystemLoader([*folders, _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=_COMPILED,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        visible=plain,
        content=content,
        cell=cell,
        code=code,
        message=message,
        moment=moment,
        time=time_element,
        compact=compact,
        pretty=pretty,
        shown=score_tables.shown,
        resource=score_tables.resource,
        asked=score_tables.asked,
        heat=score_tables.heat,
        anchor=anchor,
        provenance=svg,
    )
    templates.globals.update(software_version=__version__, zip=zip)
    return templates


def local(iri: str, base: str, root: str) -> str | None:
    """Return the link to ``iri``; ``None`` if it must not be a link."""
    if iri.startswith(base):
        return root + quote(iri[len(base) :], safe=_SAFE_PATH)
    return iri if iri.startswith(("http://", "https://")) else None


def plain(text: object, max_characters: int = LONGEST_TEXT) -> str:
    """Return a recorded text with control characters escaped, cut after ``max_characters``."""
    complete = str(text)
    return visible(complete[:max_characters]) + (
        f" ... ({len(complete) - max_characters:,} more)" if len(complete) > max_characters else ""
    )


def content(text: object) -> Markup:
    """Return a recorded text as the content of an element; not for attribute values."""
    return escaped(plain(text))


def cell(text: object) -> str:
    """Return a recorded text for a table cell."""
    return plain(text, _LONGEST_CELL)


def time_element(recorded: str | None) -> Markup:
    """Return a recorded time as an element; if it is invalid or missing, only as text."""
    words, machine = escaped(cell(moment(recorded) or "\N{EN DASH}")), machine_time(recorded)
    return Markup('<time datetime="{}">{}</time>').format(machine, words) if machine else words


def anchor(iri: str) -> str:
    """Return the fragment of an evaluation on its page."""
    return fragments.fragment(iri)


def pretty(text: str) -> str:
    """Indent JSON; other text is returned unchanged."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=True)
    except (ValueError, RecursionError):
        return text


def serialised(quads: Iterable[ox.Quad], name: str) -> bytes:
    """Serialise quads in the format with the suffix ``name``.

    Formats without named graphs get each triple once. Raises :class:`ValueError` for an unknown
    suffix.
    """
    form = ox.RdfFormat.from_extension(name)
    if form is None:
        raise ValueError(f"no RDF format has the suffix '{name}'")
    items: Iterable[ox.Quad] | Iterable[ox.Triple] = quads
    if name not in _WITH_GRAPHS:
        items = dict.fromkeys(quad.triple for quad in quads)
    text = ox.serialize(items, format=form, prefixes=dict(PREFIXES))
    assert text is not None
    return xml_bytes(text) if form == ox.RdfFormat.RDF_XML else bytes(text)


def embedded(quads: list[ox.Quad]) -> Markup:
    """Return quads as JSON-LD for a script element; ``{}`` if it is too long for a page.

    Quads with triple terms are left out, as JSON-LD cannot express them.
    """
    data = serialised((quad for quad in quads if not isinstance(quad.object, ox.Triple)), "jsonld")
    return Markup("{}") if len(data) > _LONGEST_EMBEDDED else script(data.decode("utf-8"))


def script(text: str) -> Markup:
    """Escape JSON for a script element: ``<``, ``>``, ``&`` and control characters."""
    text = _STEERING.sub(lambda match: json.dumps(match.group())[1:-1], text)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - escaped just above
