# SPDX-License-Identifier: Apache-2.0
"""Templates and their filters. Recorded text is always escaped and never becomes markup.

Control characters and direction overrides are shown as escapes, and only http and https IRIs become
links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from kgbench import __version__
from kgbench.characters import visible, xml_bytes
from kgbench.pages import board, drawing
from kgbench.pages.highlighting import LONGEST_TEXT, code, escaped, message
from kgbench.pages.times import machine_time, moment
from kgbench.store import fragments
from kgbench.vocab import PREFIXES, compact

STATIC = Path(__file__).parent / "static"
"""Style sheets and scripts of the pages; templates link them by ``asset(name)``."""
_TEMPLATES = Path(__file__).parent / "templates"
_SAFE_PATH = "/:@!$&'()*+,;=~-._%#"
_LONGEST_EMBEDDED = 200_000  # bytes of embedded JSON-LD
_LONGEST_CELL = 300
_STEERING = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_WITH_GRAPHS = ("nq", "trig")


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
        shown=board.shown,
        resource=board.resource,
        asked=board.asked,
        heat=board.heat,
        anchor=anchor,
        provenance=drawing.svg,
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
