# SPDX-License-Identifier: Apache-2.0
"""Reports in notations from before RDF 1.2, and texts with directions in other formats than RDF.

The notations: quoted triples of RDF-star, triple terms as subjects, the reifiers of an early draft
of RDF 1.2, reification of RDF 1.0, and the datatypes of the i18n namespace of JSON-LD 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from kgbench.vocab import RDF
from kgbench.worlds.generator import Graph, Instance
from kgbench.worlds.naming import Chance
from kgbench.worlds.statements import TAGS, Recipe, Report, Tag, Term, text, told
from kgbench.worlds.writing import TARGET

I18N: Final = "https://www.w3.org/ns/i18n#"
MOTTO: Final = f"<{TARGET}motto>"
RECIPES: Final = {
    1: Recipe(2, open=1),
    2: Recipe(3, open=1),
    3: Recipe(4, named=1, open=2, wording=2),
    4: Recipe(6, named=3, open=3, wording=2, about=1),
}
_DIRECTED: Final = re.compile(r'"([^"]*)"@([A-Za-z-]+)--(ltr|rtl)')
_TEXTS: Final = {1: 3, 2: 4, 3: 5, 4: 7}
_HTML: Final = 3  # the level from which texts are shown as HTML
_INHERITED: Final = 4  # the level from which attributes stand further up


def old_document(reports: Sequence[Report], level: int, chance: Chance) -> str:
    """Reports in old notations of a level, as lines; terms are written as N-Triples writes them."""
    quoted = {report.node: _quoted(report) for report in reports if not report.is_named}
    named = [report for report in reports if report.is_named]
    drafts = {report.node for report in named[: max(1, len(named) // 2)]}
    found: list[str] = []
    for place, report in enumerate(reports):
        (one,) = report.statements
        notes = [f"{predicate} {_i18n(term, level)}" for predicate, _, term in report.notes]
        spo = " ".join(quoted.get(term, term) for term in one.triple)
        is_fact = report.accepted and one.triple[0].startswith("<")
        if is_fact and level > 1 and place and not report.is_named:
            found.append(f"{spo} {{| {notes.pop(0)} |}} .")
        elif is_fact:
            found.append(f"{spo} .")
        if report.node in drafts:
            found.append(f"<< {report.node} | {spo} >>\n    " + " ;\n    ".join(notes) + " .")
        elif report.is_named:
            found.append(_reified(report, notes))
        elif level == 1 or place == 0:
            term = f"<<( {spo} )>>" if spo.startswith("<") and "<<" not in spo else f"<< {spo} >>"
            found.append(f"{term}\n    " + " ;\n    ".join(notes) + " .")
        else:
            found += [f"<< {spo} >> {note} ." for note in notes]
    return "\n".join(chance.shuffled(found))


def _quoted(report: Report) -> str:
    (one,) = report.statements
    return f"<< {' '.join(one.triple)} >>"


def _reified(report: Report, notes: Sequence[str]) -> str:
    """Return a report as RDF 1.0 and 1.1 reify."""
    (one,) = report.statements
    parts = zip(("subject", "predicate", "object"), one.triple, strict=True)
    said = [f"a <{RDF.Statement}>", *(f"<{RDF[name]}> {term}" for name, term in parts)]
    return f"{report.node} " + " ;\n    ".join([*said, *notes]) + " ."


def _i18n(term: Term, level: int) -> Term:
    """Return a string with a direction as JSON-LD 1.1 writes it in RDF 1.1, from level 3 on."""
    if level < _HTML:
        return term
    return _DIRECTED.sub(lambda m: f'"{m[1]}"^^<{I18N}{m[2].lower()}_{m[3]}>', term)


class Motto(NamedTuple):
    """A text about a thing: its language and direction where they are known."""

    one: Instance
    text: str
    tag: str | None
    direction: str | None

    @property
    def line(self) -> str:
        """The triple, as a line of N-Triples 1.2."""
        suffix = "" if self.tag is None else f"@{self.tag}"
        suffix += "" if self.direction is None else f"--{self.direction}"
        return f'<{self.one.iri}> {MOTTO} "{self.text}"{suffix} .'


def mottos(graph: Graph, level: int, chance: Chance) -> list[Motto]:
    """Texts of a level; from level 2 on, some have no direction.

    The first of each half has language and direction, which others share at the last level.
    """
    everything = [one for kind in graph.model.populated for one in graph.instances[kind]]
    found: list[Motto] = []
    half, around = _TEXTS[level] // 2, chance.one(TAGS)
    for place, one in enumerate(chance.some(everything, _TEXTS[level])):
        begins = place in {0, half}
        lacks = 0 if level == 1 or begins else chance.between(0, 2)
        is_alike = level >= _INHERITED and not begins and chance.between(0, 2) > 0
        tag = around if is_alike else chance.one(TAGS)
        around = tag if begins else around
        found.append(_motto(one, tag, text(tag, chance), lacks))
    return found


def _motto(one: Instance, tag: Tag, said: str, lacks: int) -> Motto:
    """Return a text that has all, no direction (1), or neither direction nor language (2)."""
    direction = tag.direction if not lacks else None
    return Motto(one, said, tag.tag if lacks <= 1 else None, direction)


def shown_mottos(found: Sequence[Motto], level: int) -> str:
    """Texts in words, or as HTML from level 3 on."""
    if level < _HTML:
        return "\n".join(f"* {_in_words(motto)}" for motto in found)
    if level < _INHERITED:
        return "\n".join(["<section>", *(f"  {_html(motto, {})}" for motto in found), "</section>"])
    return "\n".join(_inherited(found))


def _in_words(motto: Motto) -> str:
    start = f"The motto of {motto.one.label} is "
    if motto.tag is None:
        return f'{start}"{motto.text}" (neither language nor base direction known).'
    if motto.direction is None:
        return f'{start}"{motto.text}" (language {motto.tag}, base direction not known).'
    return f"{start}{told(motto.text, Tag(motto.tag, motto.direction))}."


def _html(motto: Motto, known: Mapping[str, str | None]) -> str:
    """A paragraph with the attributes that are not inherited: nothing known is said as such."""
    own = {"lang": motto.tag, "dir": motto.direction}
    unknown = {"lang": "", "dir": "auto"}
    said = "".join(
        f' {name}="{unknown[name] if value is None else value}"'
        for name, value in own.items()
        if value != known.get(name)
    )
    return f'<p title="{escape(motto.one.label)}"{said}>{escape(motto.text)}</p>'


def _inherited(found: Sequence[Motto]) -> Iterator[str]:
    """HTML of two sections, each with the attributes of its first text, which others may share."""
    half = len(found) // 2
    for part in (found[:half], found[half:]):
        known = {"lang": part[0].tag, "dir": part[0].direction}
        yield f'<section lang="{part[0].tag}" dir="{part[0].direction}">'
        for motto in part:
            yield f"  {_html(motto, known)}"
        yield "</section>"
