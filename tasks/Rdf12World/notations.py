# SPDX-License-Identifier: Apache-2.0
"""Reports in notations older than RDF 1.2, and texts with base directions outside RDF.

The notations: quoted triples of RDF-star, triple terms as subjects, the reifiers of an early draft
of RDF 1.2, reification of RDF 1.0, and the datatypes of the i18n namespace of JSON-LD 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from kgbench.api import RDF, Chance, Graph, Instance
from kgbench.worlds.writing import TARGET

from .reports import TAGS, Recipe, Report, Tag, Term, describe_text, text

I18N: Final = "https://www.w3.org/ns/i18n#"
MOTTO: Final = f"<{TARGET}motto>"
RECIPES: Final = {
    1: Recipe(2, open=1),
    2: Recipe(3, open=1),
    3: Recipe(4, named=1, open=2, wording=2),
    4: Recipe(6, named=3, open=3, wording=2, about_reports=1),
}
_DIRECTED: Final = re.compile(r'"([^"]*)"@([A-Za-z-]+)--(ltr|rtl)')
_TEXTS: Final = {1: 3, 2: 4, 3: 5, 4: 7}
_HTML: Final = 3  # the level from which texts are shown as HTML
_INHERITED: Final = 4  # the level from which attributes are inherited


def old_document(reports: Sequence[Report], level: int, chance: Chance) -> list[str]:
    """Write reports in the old notations of a level, with terms in N-Triples syntax, in blocks."""
    quoted = {report.node: _quoted(report) for report in reports if not report.is_named}
    named = [report for report in reports if report.is_named]
    drafts = {report.node for report in named[: max(1, len(named) // 2)]}
    blocks: list[str] = []
    for index, report in enumerate(reports):
        (statement,) = report.statements
        notes = [f"{predicate} {_i18n(term, level)}" for predicate, _, term in report.notes]
        spo = " ".join(quoted.get(term, term) for term in statement.triple)
        is_fact = report.accepted and statement.triple[0].startswith("<")
        if is_fact and level > 1 and index and not report.is_named:
            blocks.append(f"{spo} {{| {notes.pop(0)} |}} .")
        elif is_fact:
            blocks.append(f"{spo} .")
        if report.node in drafts:
            blocks.append(f"<< {report.node} | {spo} >>\n    " + " ;\n    ".join(notes) + " .")
        elif report.is_named:
            blocks.append(_reified(report, notes))
        elif level == 1 or index == 0:
            term = f"<<( {spo} )>>" if spo.startswith("<") and "<<" not in spo else f"<< {spo} >>"
            blocks.append(f"{term}\n    " + " ;\n    ".join(notes) + " .")
        else:
            blocks += [f"<< {spo} >> {note} ." for note in notes]
    return chance.shuffled(blocks)


def _quoted(report: Report) -> str:
    (statement,) = report.statements
    return f"<< {' '.join(statement.triple)} >>"


def _reified(report: Report, notes: Sequence[str]) -> str:
    """Write a report with the reification vocabulary of RDF 1.0 and 1.1."""
    (statement,) = report.statements
    parts = zip(("subject", "predicate", "object"), statement.triple, strict=True)
    properties = [f"a <{RDF.Statement}>", *(f"<{RDF[name]}> {term}" for name, term in parts)]
    return f"{report.node} " + " ;\n    ".join([*properties, *notes]) + " ."


def _i18n(term: Term, level: int) -> Term:
    """From level 3 on, write a directional string with an i18n datatype (JSON-LD 1.1)."""
    if level < _HTML:
        return term
    return _DIRECTED.sub(lambda m: f'"{m[1]}"^^<{I18N}{m[2].lower()}_{m[3]}>', term)


class Motto(NamedTuple):
    """A text about a thing, with its language and base direction if they are known."""

    thing: Instance
    text: str
    tag: str | None
    direction: str | None

    @property
    def line(self) -> str:
        """The triple, as a line of N-Triples 1.2."""
        suffix = "" if self.tag is None else f"@{self.tag}"
        suffix += "" if self.direction is None else f"--{self.direction}"
        return f'<{self.thing.iri}> {MOTTO} "{self.text}"{suffix} .'


def mottos(graph: Graph, level: int, chance: Chance) -> list[Motto]:
    """Draw the texts of a level; from level 2 on, some have no direction.

    The first text of each half has a language and a direction, which others share at the last
    level.
    """
    result: list[Motto] = []
    half, shared_tag = _TEXTS[level] // 2, chance.one(TAGS)
    for index, instance in enumerate(chance.some(graph.things, _TEXTS[level])):
        is_first = index in {0, half}
        lacks = 0 if level == 1 or is_first else chance.between(0, 2)
        is_alike = level >= _INHERITED and not is_first and chance.between(0, 2) > 0
        tag = shared_tag if is_alike else chance.one(TAGS)
        shared_tag = tag if is_first else shared_tag
        result.append(_motto(instance, tag, text(tag, chance), lacks))
    return result


def _motto(instance: Instance, tag: Tag, content: str, lacks: int) -> Motto:
    """Build a text that lacks nothing (0), its direction (1), or direction and language (2)."""
    direction = tag.direction if not lacks else None
    return Motto(instance, content, tag.tag if lacks <= 1 else None, direction)


def write_mottos(texts: Sequence[Motto], level: int) -> str:
    """Write texts as sentences, or from level 3 on as HTML."""
    if level < _HTML:
        return "\n".join(f"* {_in_words(motto)}" for motto in texts)
    if level < _INHERITED:
        return "\n".join(["<section>", *(f"  {_html(motto, {})}" for motto in texts), "</section>"])
    return "\n".join(_inherited(texts))


def _in_words(motto: Motto) -> str:
    start = f"The motto of {motto.thing.label} is "
    if motto.tag is None:
        return f'{start}"{motto.text}" (neither language nor base direction known).'
    if motto.direction is None:
        return f'{start}"{motto.text}" (language {motto.tag}, base direction not known).'
    return f"{start}{describe_text(motto.text, Tag(motto.tag, motto.direction))}."


def _html(motto: Motto, known: Mapping[str, str | None]) -> str:
    """Write a paragraph with its attributes that are not inherited, unknown values included."""
    own = {"lang": motto.tag, "dir": motto.direction}
    unknown = {"lang": "", "dir": "auto"}
    attributes = "".join(
        f' {name}="{unknown[name] if value is None else value}"'
        for name, value in own.items()
        if value != known.get(name)
    )
    return f'<p title="{escape(motto.thing.label)}"{attributes}>{escape(motto.text)}</p>'


def _inherited(texts: Sequence[Motto]) -> Iterator[str]:
    """Yield the HTML of two sections, each with the attributes of its first text."""
    half = len(texts) // 2
    for part in (texts[:half], texts[half:]):
        known = {"lang": part[0].tag, "dir": part[0].direction}
        yield f'<section lang="{part[0].tag}" dir="{part[0].direction}">'
        for motto in part:
            yield f"  {_html(motto, known)}"
        yield "</section>"
