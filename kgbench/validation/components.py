# SPDX-License-Identifier: Apache-2.0
"""The constraint components of SHACL core, as functions from values to violations.

The name of a component is that of the recommendation without ``ConstraintComponent``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.validation.literals import comparable, is_before_or_same, is_well_formed
from kgbench.vocab import SH, compact

if TYPE_CHECKING:
    from kgbench.validation.compiling import Shape


class Breach(NamedTuple):
    """A violation of a constraint: the value (``None``: no single value) and a message.

    ``path`` is reported instead of that of the shape, and the message instead of ``sh:message``
    of the shape if it is ``worded`` by the author of the shape.
    """

    value: Term | None
    message: str
    path: str | None = None
    worded: bool = False


Broken: TypeAlias = Iterator[Breach]
"""The violations of a constraint."""


class Constraint(NamedTuple):
    """The name of a component, and its check of the values of a path at a node.

    ``inner`` is the shape that each value must conform to, for ``sh:node``.
    """

    component: str
    check: Callable[[Data, Term, list[Term]], Broken]
    inner: Shape | None = None


def _each(component: str, holds: Callable[[Data, Term], bool], message: str) -> Constraint:
    """Build a constraint that each value must meet on its own."""

    def check(data: Data, _: Term, values: list[Term]) -> Broken:
        for value in values:
            if not holds(data, value):
                yield Breach(value, message)

    return Constraint(component, check)


def _counted(component: str, number: Term, *, is_least: bool) -> Constraint:
    limit = int(number.value)
    words = "needs at least" if is_least else "may have at most"

    def check(_: Data, __: Term, values: list[Term]) -> Broken:
        if len(values) < limit if is_least else len(values) > limit:
            yield Breach(None, f"has {len(values)} values, {words} {limit}")

    return Constraint(component, check)


def _datatype(datatype: Term) -> Constraint:
    def holds(_: Data, value: Term) -> bool:
        return (
            isinstance(value, ox.Literal) and value.datatype == datatype and is_well_formed(value)
        )

    return _each("Datatype", holds, f"is not a well-formed {compact(datatype.value)}")


KINDS: Mapping[str, tuple[type, ...]] = {
    SH.IRI: (ox.NamedNode,),
    SH.BlankNode: (ox.BlankNode,),
    SH.Literal: (ox.Literal,),
    SH.BlankNodeOrIRI: (ox.BlankNode, ox.NamedNode),
    SH.BlankNodeOrLiteral: (ox.BlankNode, ox.Literal),
    SH.IRIOrLiteral: (ox.NamedNode, ox.Literal),
}
"""The types of the terms of each node kind."""


def _length(component: str, number: Term, *, is_least: bool) -> Constraint:
    limit = int(number.value)

    def holds(_: Data, value: Term) -> bool:
        if isinstance(value, ox.BlankNode):
            return False
        return len(value.value) >= limit if is_least else len(value.value) <= limit

    return _each(component, holds, f"is {'shorter' if is_least else 'longer'} than {limit}")


def _bound(component: str, words: str, *, above: bool, strict: bool, bound: Term) -> Constraint:
    def holds(_: Data, value: Term) -> bool:
        low, high = (bound, value) if above else (value, bound)
        if not is_before_or_same(low, high):
            return False
        return not strict or comparable(low) != comparable(high)

    return _each(component, holds, f"is not {words} {bound.value}")


def _has_value(expected: Term) -> Constraint:
    def check(_: Data, __: Term, values: list[Term]) -> Broken:
        if expected not in values:
            yield Breach(None, f"lacks the value {term_text(expected)}")

    return Constraint("HasValue", check)


def _unique_lang(value: Term) -> Constraint:
    def check(_: Data, __: Term, values: list[Term]) -> Broken:
        if value.value != "true":  # "1" is not what section 4.4.5 names
            return
        tags = [v.language.lower() for v in values if isinstance(v, ox.Literal) and v.language]
        for tag in sorted({tag for tag in tags if tags.count(tag) > 1}):
            yield Breach(None, f"has several values in the language '{tag}'")

    return Constraint("UniqueLang", check)


def _equals(other: Term) -> Constraint:
    def check(data: Data, focus: Term, values: list[Term]) -> Broken:
        others = data.values(focus, other)
        for value in (v for v in values if v not in others):
            yield Breach(value, f"is no value of {compact(other.value)}")
        for value in (v for v in others if v not in values):
            yield Breach(value, f"is a value of {compact(other.value)} only")

    return Constraint("Equals", check)


def _disjoint(other: Term) -> Constraint:
    def check(data: Data, focus: Term, values: list[Term]) -> Broken:
        for value in (v for v in data.values(focus, other) if v in values):
            yield Breach(value, f"is a value of {compact(other.value)}, too")

    return Constraint("Disjoint", check)


def _ordered(component: str, other: Term, *, strict: bool) -> Constraint:
    def check(data: Data, focus: Term, values: list[Term]) -> Broken:
        for value in values:
            for later in data.values(focus, other):
                same = strict and comparable(value) == comparable(later)
                if same or not is_before_or_same(value, later):
                    yield Breach(value, f"comes after {compact(other.value)} {later.value}")

    return Constraint(component, check)


SIMPLE: Mapping[str, Callable[[Term], Constraint]] = {
    "minCount": lambda v: _counted("MinCount", v, is_least=True),
    "maxCount": lambda v: _counted("MaxCount", v, is_least=False),
    "datatype": _datatype,
    "nodeKind": lambda v: _each(
        "NodeKind", lambda _, t: isinstance(t, KINDS[v.value]), f"is not a {compact(v.value)}"
    ),
    "class": lambda v: _each(
        "Class", lambda data, t: data.is_a(t, v), f"is not described as a {compact(v.value)}"
    ),
    "minLength": lambda v: _length("MinLength", v, is_least=True),
    "maxLength": lambda v: _length("MaxLength", v, is_least=False),
    "hasValue": _has_value,
    "uniqueLang": _unique_lang,
    "equals": _equals,
    "disjoint": _disjoint,
    "minInclusive": lambda v: _bound("MinInclusive", "at least", above=True, strict=False, bound=v),
    "maxInclusive": lambda v: _bound("MaxInclusive", "at most", above=False, strict=False, bound=v),
    "minExclusive": lambda v: _bound("MinExclusive", "above", above=True, strict=True, bound=v),
    "maxExclusive": lambda v: _bound("MaxExclusive", "below", above=False, strict=True, bound=v),
    "lessThan": lambda v: _ordered("LessThan", v, strict=True),
    "lessThanOrEquals": lambda v: _ordered("LessThanOrEquals", v, strict=False),
}


def pattern(text: str, flags: str) -> Constraint:
    """Require values to match a regular expression somewhere.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` for an ill-formed expression or an
    unknown flag.
    """
    flags_by_letter = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
    if "q" in flags:  # the text itself (XPath and XQuery Functions 3.1, section 5.6.1.1)
        text, flags = re.escape(text), flags.replace("q", "")
    if unknown := set(flags) - flags_by_letter.keys():
        raise IllFormedShapes(f"sh:flags: there is no flag {min(unknown)}")
    try:
        expression = re.compile(text, sum(flags_by_letter[flag] for flag in set(flags)))
    except (re.error, OverflowError) as error:
        raise IllFormedShapes(f"sh:pattern has no regular expression: {error}") from error

    def holds(_: Data, value: Term) -> bool:
        return not isinstance(value, ox.BlankNode) and expression.search(value.value) is not None

    return _each("Pattern", holds, f"does not match {text}")


def _language_in(tags: list[Term]) -> Constraint:
    """Require texts in one of some languages (basic filtering, RFC 4647, section 3.3.1)."""
    ranges = [tag.value for tag in tags]
    known = [language_range.lower() for language_range in ranges]

    def holds(_: Data, value: Term) -> bool:
        tag = (value.language or "").lower() if isinstance(value, ox.Literal) else ""
        return any(
            tag == accepted or tag.startswith(f"{accepted}-") or (tag and accepted == "*")
            for accepted in known
        )

    return _each("LanguageIn", holds, f"is in none of the languages {', '.join(ranges)}")


OF_LISTS: Mapping[str, Callable[[list[Term]], Constraint]] = {
    "in": lambda members: _each(
        "In", lambda _, v: v in members, f"is none of {', '.join(map(term_text, members))}"
    ),
    "languageIn": _language_in,
}


def closed(allowed: frozenset[Any]) -> Constraint:
    """Require values to have no properties except ``allowed``."""

    def check(data: Data, _: Term, values: list[Term]) -> Broken:
        for value in values:
            for predicate, objects in data.about(value).items():
                if predicate not in allowed:
                    for each in objects:
                        yield Breach(each, "is not foreseen here", compact(predicate.value))

    return Constraint("Closed", check)


def conforms(shape: Shape, data: Data, value: Term) -> bool:
    """Return whether a node conforms to a shape with all its constraints and property shapes."""
    values = [value] if shape.path is None else shape.path(data, value)
    for constraint in shape.constraints:
        if next(constraint.check(data, value, values), None) is not None:
            return False
    return all(
        conforms(inner, data, inner_value) for inner in shape.properties for inner_value in values
    )


OF_SHAPES: Mapping[str, Callable[[Shape], Constraint]] = {
    "node": lambda shape: _each(
        "Node", partial(conforms, shape), f"does not conform to {shape.name}"
    )._replace(inner=shape),
    "not": lambda shape: _each(
        "Not", lambda data, v: not conforms(shape, data, v), f"conforms to {shape.name}"
    ),
}


def _logical(component: str, is_met: Callable[[int, int], bool], words: str) -> Any:
    def build(shapes: list[Shape]) -> Constraint:
        def holds(data: Data, value: Term) -> bool:
            return is_met(sum(conforms(shape, data, value) for shape in shapes), len(shapes))

        return _each(component, holds, f"does not conform to {words} of {len(shapes)} alternatives")

    return build


LOGICAL: Mapping[str, Callable[[list[Shape]], Constraint]] = {
    "or": _logical("Or", lambda n, _: n > 0, "any"),
    "and": _logical("And", lambda n, of: n == of, "all"),
    "xone": _logical("Xone", lambda n, _: n == 1, "exactly one"),
}


def qualified(name: str, number: int, shape: Shape, siblings: list[Shape]) -> Constraint:
    """Limit how many values conform to a shape, and to none of ``siblings``.

    ``name`` is ``qualifiedMinCount`` or ``qualifiedMaxCount``.
    """
    is_least = name == "qualifiedMinCount"
    limit = "needs at least" if is_least else "may have at most"

    def check(data: Data, _: Term, values: list[Term]) -> Broken:
        count = sum(
            conforms(shape, data, value) and not any(conforms(one, data, value) for one in siblings)
            for value in values
        )
        if count < number if is_least else count > number:
            yield Breach(None, f"has {count} values as described, {limit} {number}")

    return Constraint("QualifiedMinCount" if is_least else "QualifiedMaxCount", check)


def term_text(term: Term) -> str:
    """Return a term for messages: IRIs compact, long terms truncated."""
    if isinstance(term, ox.NamedNode):
        return compact(term.value)
    text = str(term)
    return text if len(text) <= 200 else f"{text[:200]}..."  # noqa: PLR2004  enough to recognise
