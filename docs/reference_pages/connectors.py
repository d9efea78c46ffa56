# SPDX-License-Identifier: Apache-2.0
"""The options of connectors and the table of replies, from what connectors declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docs.reference_pages.declared import cell
from kgbench.connectors.calls import Kind, signs
from kgbench.connectors.declared import COMMON, Declaration, Option, declarations

INTRODUCTION = """\
# Connector options

This page is generated from the declarations of the connectors. [Connectors](../connectors.md) says
how a model is named, and has a recipe for each common server.
"""
ORDER = (
    "openai",
    "anthropic",
    "google",
    "google_legacy",
    "vllm",
    "local",
    "text2sparql",
    "baseline",
    "replay",
)

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def page() -> str:
    """Return the page in Markdown."""
    known = declarations()
    assert set(known) >= set(ORDER), "a built-in connector has no declaration"
    lines = [INTRODUCTION, *_servers(known)]
    for name in ORDER:
        lines += _options(name, known[name])
    lines += ["## All connectors", "", *_table(COMMON), "", *_replies(), ""]
    return "\n".join(lines)


def _servers(known: dict[str, Declaration]) -> Iterator[str]:
    yield "| connector | extra | server | address in | key in | version |"
    yield "|---|---|---|---|---|---|"
    for name in ORDER:
        service = known[name].service
        if service is not None:
            keys = " or ".join(f"`{key}`" for key in service.keys)
            version = f"`{service.version}`" + (", no other" if service.fixed else "")
            own = f"`{service.own}`" if service.own else "the address in the specification"
            variable = f"`{service.variable}`" if service.variable else ""
            yield f"| `{name}` | `{known[name].extra}` | {own} | {variable} | {keys} | {version} |"
    yield ""


def _options(name: str, declared: Declaration) -> Iterator[str]:
    forms = " or ".join(f"`{form}`" for form in declared.specifications)
    yield from (f"## {name}", "", f"Specification: {forms}.")
    if declared.sampling:
        taken = ", ".join(f"`{each}`" for each in sorted(declared.sampling))
        yield f"Sampling parameters: {taken}."
    elif declared.sampling is None:
        yield "Sampling parameters: those that the server takes, passed on as they are written."
    yield ""
    yield from _table(declared.options)
    yield ""


def _table(options: Mapping[str, Option]) -> Iterator[str]:
    yield "| option | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, option in options.items():
        default = "" if option.default in (None, "") else f"`{option.default}`"
        yield f"| `{name}` | {_values(option)} | {default} | {cell(option.meaning)} |"


def _replies() -> Iterator[str]:
    """Yield the table of replies, whose words are the same for all connectors."""
    yield from ("## Replies", "", "| sign | words | meaning | source | declared |")
    yield "|---|---|---|---|---|"
    kinds = list(Kind)
    for sign in sorted(signs(), key=lambda row: kinds.index(row.kind)):
        words = ", ".join(f"`{cell(word)}`" for word in sign.words)
        advice = f": {cell(sign.advice)}" if sign.advice else ""
        sources = ", ".join(
            f"<{source}>" if source.startswith("http") else source for source in sign.sources
        )
        yield f"| {sign.kind} | {words} | {sign.meaning}{advice} | {sources} | {sign.date} |"


def _values(option: Option) -> str:
    if option.allowed:
        return " or ".join(f"`{each}`" for each in option.allowed)
    kind = _KINDS[option.kind]
    if option.maximum is not None:
        return f"{kind} from {option.minimum:g} to {option.maximum:g}"
    return kind if option.minimum is None else f"{kind}, at least {option.minimum:g}"
