# SPDX-License-Identifier: Apache-2.0
"""Recorded texts as HTML: highlighted, complete, never markup, in linear time."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.characters import visible
from kgbench.pages.highlighting import LONGEST_TEXT, code, message

OURS = re.compile(r'<i class="[ksincv]">|</i>|<pre class="(?:prose|code)"[^<>]*>|</pre>')
LANGUAGES = {
    "turtle": ("Turtle", '@prefix : <http://a/> . # why\n:a :b "c"@en , 1.5 ; a :D .'),
    "sparql": ("SPARQL", 'SELECT ?s WHERE { ?s a <http://a/B> ; :p "x" FILTER(?s > 2) } # why'),
    "ntriples": ("N-Triples", '<http://a/s> <http://a/p> "o" .\n_:b <http://a/p> <http://a/o> .'),
    "json": ("JSON", '{"a": ["b", 1, true, null]}'),
    "json-ld": ("JSON-LD", '{"@id": "http://a/b", "n": 1}'),
    "xml": ("XML", '<?xml version="1.0"?><!-- why --><rdf:RDF a="b">&amp; c</rdf:RDF>'),
}
#: Obstacles to backtracking patterns: unclosed openings and mixtures of them.
PIECES = (
    *(
        '"',
        "'",
        '"""',
        "'''",
        '"\\',
        "'\\",
        "<",
        "<a ",
        '<a "',
        "<a '\"",
        "<!--",
        "<!---",
        "{",
        "[",
    ),
    *(
        "a",
        "a:",
        "#",
        "\n#",
        "```\n",
        "```turtle\n",
        "`",
        " ",
        "\n\n",
        "&",
        "1 ",
        "prefix a: <\n\n",
    ),
    *(
        "@prefix \n\n",
        "select ?\n\n",
        '{"a":"\n\n',
        "\u202e",
        "> ",
        "a.-",
        "<script>",
        "\x01",
        "\x0e",
    ),
)


def text_of(html):
    """Return the text of :func:`message`'s HTML, with a line end between blocks."""
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<pre[^>]*>", "\n", str(html))))


def without_line_ends(text):
    """Return a text without line ends, which the blocks of a page replace."""
    return text.replace("\n", "")


@pytest.mark.parametrize("info", LANGUAGES)
def test_fenced_blocks_are_highlighted_by_their_language(info):
    """A block has the language of its info string; strings, names and keywords are marked."""
    title, source = LANGUAGES[info]
    html = str(message(f"Here it is:\n\n```{info}\n{source}\n```\nGood luck."))

    assert f'data-language="{title}"' in html
    assert '<i class="c">```' in html
    assert '<pre class="prose" dir="auto">Here it is:</pre>' in html
    assert re.search('<i class="[ski]">[^<]', html.partition("data-language")[2])


@pytest.mark.parametrize("info", LANGUAGES)
def test_documents_without_fences_are_recognised(info):
    """A document without fences is recognised, alone and within prose."""
    title, source = LANGUAGES[info]

    assert f'data-language="{title}"' in message(source)
    inside = str(message(f"Read this.\n\nGraph:\n{source}\n\nHow many are there?"))
    assert f'data-language="{title}"' in inside
    assert '<pre class="prose" dir="auto">How many are there?</pre>' in inside


def test_a_caption_ends_a_document():
    """A paragraph that starts with a line such as "Graph:" ends the document before it."""
    text = 'Query:\nSELECT ?s WHERE { ?s a :B }\n\nGraph:\n[\n  {"@id": "http://a/b"}\n]'
    shown = str(message(text))
    assert re.findall(r'data-language="([^"]+)"', shown) == ["SPARQL", "JSON-LD"]
    assert '<pre class="prose" dir="auto">Graph:</pre>' in shown


def test_what_stands_in_strings_and_comments_is_not_code():
    """Keywords, variables and comment signs within strings and IRIs are not highlighted."""
    html = str(code('SELECT ?s { ?s :p "SELECT ?x # no" , <http://a/#ask> } # FILTER ?y'))

    assert '<i class="s">"SELECT ?x # no"</i>' in html
    assert '<i class="i">&lt;http://a/#ask&gt;</i>' in html
    assert '<i class="c"># FILTER ?y</i>' in html
    assert '<i class="k">' not in html.partition("SELECT</i>")[2]


def test_prose_is_not_code():
    """Sentences with keywords of SPARQL, brackets and prefixes stay prose."""
    for text in ("Select the one that fits.", "Ask for more (a lot).", "prefix it with a dash"):
        assert f'<pre class="prose" dir="auto">{text}</pre>' == str(message(text))


@given(st.lists(st.sampled_from(PIECES + tuple(t for _, t in LANGUAGES.values())), max_size=30))
def test_all_of_a_text_stays_and_nothing_else_becomes_markup(pieces):
    """Any text is shown completely and in order, and adds no element."""
    text = "".join(pieces)
    html = str(message(text))

    assert without_line_ends(visible(text)) == without_line_ends(text_of(html))
    assert "<" not in OURS.sub("", html)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", html)


CODE = """
import resource, sys
from kgbench.pages import highlighting

which, pieces = sys.argv[1], eval(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[3]),) * 2)
for piece in pieces:
    text = piece * (500_000 // len(piece)) + "x"
    if which == "message":
        for before in ("", "Hello.\\n", "@prefix "):
            highlighting.message(before + text)
    else:
        highlighting._BY_INFO[which].marked(text)
"""


@pytest.mark.parametrize("which", ["message", *LANGUAGES])
def test_work_is_linear_in_the_text(which):
    """Half a million characters of any obstacle take seconds; quadratic time would take minutes."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, which, repr(PIECES), "100"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stderr


def test_a_megabyte_has_an_end():
    """A page shows the beginning of a long text and the number of characters left."""
    for text in ("<script>alert(1)</script>" * 40_000, "```turtle\n" + '"' * 1_000_000):
        html = str(message(text))

        assert f"({len(text) - LONGEST_TEXT:,} more)" in html
        assert "<script" not in html
        assert len(html) < 8 * LONGEST_TEXT
