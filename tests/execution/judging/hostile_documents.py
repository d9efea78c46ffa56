# SPDX-License-Identifier: Apache-2.0
"""Kinds of hostile RDF."""

from collections.abc import Iterator

from tests.execution.judging.hostile import MEGABYTE, Hostile, either, noise, parse, scored


def xml(body, doctype=""):
    """Return an RDF/XML document."""
    return (
        f'<?xml version="1.0"?>{doctype}<rdf:RDF xmlns:e="http://e/" '
        f'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="http://e/a"><e:b>{body}</e:b></rdf:Description></rdf:RDF>'
    )


def laughs(levels, width):
    """Return a document with entities that grow to ``width`` to the power of ``levels``."""
    steps = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * width}">' for i in range(1, levels))
    return xml(f"&l{levels - 1};", f'<!DOCTYPE x [<!ENTITY l0 "ha">{steps}]>')


def hostile_documents(port) -> Iterator[tuple[str, Hostile]]:
    """Yield the kinds of hostile RDF."""
    here = f"http://127.0.0.1:{port}/"
    yield (
        "entity bombs",
        scored(
            parse("xml", *(laughs(levels, width) for levels in (2, 10, 30) for width in (2, 10))),
            triples=None,
        ),
    )
    external = (f"{here}x", "file:///etc/passwd", "/dev/zero")
    yield (
        "external entities",
        scored(
            parse(
                "xml",
                *(xml("&x;", f'<!DOCTYPE x [<!ENTITY x SYSTEM "{place}">]>') for place in external),
                *(
                    xml("", f'<!DOCTYPE x [<!ENTITY % x SYSTEM "{place}"> %x;]>')
                    for place in external
                ),
            ),
            triples=None,
        ),
    )
    yield (
        "external document types",
        scored(
            parse("xml", *(xml("y", f'<!DOCTYPE x SYSTEM "{place}">') for place in external)),
            triples=1,
        ),
    )
    contexts = (f'"{here}"', f'[{{}}, "{here}"]', f'{{"@import": "{here}"}}', '"/etc/passwd"')
    yield (
        "remote contexts",
        scored(
            parse(
                "json-ld",
                *(f'{{"@context": {c}, "http://e/b": 1}}' for c in contexts),
                *(f'{{"http://e/b": {{"\\u0040context": {c}, "x": 1}}}}' for c in contexts),
            ),
            triples=None,
        ),
    )
    yield (
        "nested JSON",
        either(
            parse(
                "json-ld",
                *("[" * n + "]" * n for n in (1_000, 100_000)),
                *('{"http://e/b":' * n + "1" + "}" * n for n in (1_000, 100_000)),
                '{"@context":' * 10_000 + "{}" + "}" * 10_000,
            )
        ),
    )
    yield (
        "nested Turtle",
        scored(
            parse(
                "turtle",
                *("<http://e/a> <http://e/b> " + "[ <http://e/b> " * n for n in (1_000, 100_000)),
                *("<http://e/a> <http://e/b> " + "(" * n + ")" * n for n in (1_000, 100_000)),
            ),
            triples=None,
        ),
    )
    yield (
        "nested XML",
        either(parse("xml", *(xml("<e:x><e:y>" * n + "</e:y></e:x>" * n) for n in (100, 4_000)))),
    )
    whole = 50 * MEGABYTE
    line = '<http://e/a> <http://e/b> "x{}" .\n'
    lines = "".join(line.format(i) for i in range(whole // 35))
    yield "50 MB of triples", either(parse("turtle", lines))
    yield (
        "50 MB in one literal",
        either(
            parse("json-ld", f'{{"http://e/b": "{"x" * whole}"}}') + parse("xml", xml("x" * whole))
        ),
    )
    yield (
        "50 MB of nothing",
        either(parse("turtle", " " * whole) + parse("xml", "<" * whole)),
    )
    yield "repeated triples", either(parse("ntriples", line.format(1) * 100_000), triples=1)
    for rdf_format in ("turtle", "json-ld", "xml", "ntriples"):
        yield (
            f"noise for {rdf_format}",
            scored(parse(rdf_format, *(noise(n, 5_000) for n in range(8))), triples=None),
        )
        yield (
            f"odd characters for {rdf_format}",
            scored(
                parse(
                    rdf_format,
                    *(
                        f"x{c}"
                        for c in ("\x00", "\ud800", "\udcff", "\ufeff\ufffe", "\u202e", "\x1b[2J")
                    ),
                ),
                triples=None,
            ),
        )
    yield (
        "long names",
        either(
            parse(
                "turtle",
                f"<http://e/{'x' * MEGABYTE}> <http://e/b> 1 .",
                f"@prefix {'x' * MEGABYTE}: <http://e/> . {'x' * MEGABYTE}:a <http://e/b> 1 .",
                f"_:{'x' * MEGABYTE} <http://e/b> 1 .",
                f"<http://e/a> <http://e/b> {'9' * MEGABYTE} .",
            ),
            triples=1,
        ),
    )
