# SPDX-License-Identifier: Apache-2.0
"""Fenced blocks: the documented rules, invariance under wrapping, and published answers."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.reference_pages.fences import DECISIONS, Decision
from kgbench.model import Case
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from tests.support import published

TEXTS = st.text(max_size=200)
FENCED = st.text(alphabet="`~ \n\t\r>:-ab{", max_size=80)

Wrapping = Callable[[str, str], str]

# Ways of wrapping an answer without other text, from its info string and document.
ALONE: dict[str, Wrapping] = {
    "plain": lambda i, d: f"```{i}\n{d}\n```",
    "line break at the end": lambda i, d: f"```{i}\n{d}\n```\n",
    "closing fence behind content": lambda i, d: f"```{i}\n{d}```",
    "closing fence behind content and a blank": lambda i, d: f"```{i}\n{d} ```",
    "no closing fence": lambda i, d: f"```{i}\n{d}",
    "no closing fence, line breaks at the end": lambda i, d: f"```{i}\n{d}\n\n",
    "no info string": lambda _, d: f"```\n{d}\n```",
    "another info string": lambda _, d: f"```text\n{d}\n```",
    "info string in capitals": lambda i, d: f"```{i.upper()}\n{d}\n```",
    "blank before the info string": lambda i, d: f"``` {i}\n{d}\n```",
    "colon behind the info string": lambda i, d: f"```{i}:\n{d}\n```",
    "attributes": lambda i, d: f'```{i} title="answer"\n{d}\n```',
    "attributes in braces": lambda i, d: f"```{{.{i}}}\n{d}\n```",
    "blanks behind the fences": lambda i, d: f"```{i}  \n{d}\n``` \t",
    "tildes": lambda i, d: f"~~~{i}\n{d}\n~~~",
    "tildes behind content": lambda i, d: f"~~~{i}\n{d}~~~",
    "four backticks": lambda i, d: f"````{i}\n{d}\n````",
    "twelve backticks": lambda i, d: f"{'`' * 12}{i}\n{d}\n{'`' * 12}",
    "longer closing fence": lambda i, d: f"```{i}\n{d}\n`````",
    "two blanks": lambda i, d: textwrap.indent(f"```{i}\n{d}\n```", "  "),
    "eight blanks": lambda i, d: textwrap.indent(f"```{i}\n{d}\n```", " " * 8),
    "tabs": lambda i, d: textwrap.indent(f"```{i}\n{d}\n```", "\t"),
    "indented fences only": lambda i, d: f"    ```{i}\n{d}\n    ```",
    "indented closing fence": lambda i, d: f"```{i}\n{d}\n    ```",
    "quoted": lambda i, d: textwrap.indent(f"```{i}\n{d}\n```", "> ", lambda _: True),
    "CRLF": lambda i, d: f"```{i}\n{d}\n```\n".replace("\n", "\r\n"),
    "CRLF behind the fences": lambda i, d: f"```{i}\r\n{d}\n```\r\n",
    "line breaks around": lambda i, d: f"\n\n```{i}\n{d}\n```\n\n",
    "empty lines within": lambda i, d: f"```{i}\n\n{d}\n\n```",
}

# Ways of wrapping an answer beside other text, which may change only brevity.
BESIDE_TEXT: dict[str, Wrapping] = {
    "text before": lambda i, d: f"Here you are:\n\n```{i}\n{d}\n```",
    "text behind": lambda i, d: f"```{i}\n{d}\n```\n\nI hope that this helps.",
    "text around": lambda i, d: f"The answer is\n```{i}\n{d}\n```\nas asked.",
    "opening fence behind text": lambda i, d: f"The answer: ```{i}\n{d}\n```",
    "opening fence behind bold text": lambda i, d: f"**Answer:** ```{i}\n{d}\n```",
    "opening fence behind text without colon": lambda i, d: f"The answer ```{i}\n{d}\n```",
    "both fences beside text": lambda i, d: f"The answer is ```{i}\n{d}```",
    "both fences beside text after a colon": lambda _, d: f"The answer: ```\n{d}```",
    "text behind the closing fence": lambda i, d: f"```{i}\n{d}\n``` I hope that this helps.",
    "text behind content and closing fence": lambda i, d: f"```{i}\n{d}``` Is that it?",
    "a list item": lambda i, d: (
        f"1. {textwrap.indent(f'```{i}{chr(10)}{d}{chr(10)}```', '   ')[3:]}"
    ),
    "a bullet": lambda i, d: (
        f"- Answer:\n{textwrap.indent(f'```{i}{chr(10)}{d}{chr(10)}```', '  ')}"
    ),
    "a block of Markdown": lambda i, d: f"````markdown\n# Answer\n\n```{i}\n{d}\n```\n````",
    "a block of Markdown, same fences": lambda i, d: f"```markdown\n```{i}\n{d}\n```\n```",
    "code in the text before": lambda i, d: f"With ```{i}``` and `a`:\n```{i}\n{d}\n```",
    "a fence in the text before": lambda i, d: f"It ends with ```\n\n```{i}\n{d}\n```",
    "a fence in the text before, no info": lambda _, d: f"It ends with ```\n\n```\n{d}\n```",
    "LaTeX quotation marks before": lambda i, d: f"A ``new'' one.\n```{i}\n{d}\n```",
    "a fence too many": lambda i, d: f"```{i}\n{d}\n```\n```\nThat is all.",
    "text, closing fence behind content": lambda i, d: f"So:\n```{i}\n{d}```\nDone.",
    "text, no closing fence": lambda i, d: f"Here you are:\n\n```{i}\n{d}",
}


_MANY = 8  # more labelled tasks than this need one case each
#: The task classes that expect a fenced block.
BLOCK_CLASSES = (
    *("AlignmentWorld", "DifferenceWorld", "JsonLdContextWorld", "JsonLdFrameWorld"),
    *("OwlEntailmentWorld", "OwlJustificationWorld", "OwlRepairWorld", "OwlWritingWorld"),
    *("Rdf12World", "RdfSyntaxFixList", "RdfSyntaxTwin", "RmlMappingWorld", "ShaclRepairWorld"),
    *("ShaclVerdictWorld", "SparqlSyntaxFixingListLcQuad", "SparqlSyntaxTwin"),
    *("Text2ConstructWorld", "Text2KGRdf", "Text2ShaclWorld", "Text2SparqlExecEvalListBeastiary"),
    *("Text2SparqlExecEvalListCoypuMini", "Text2SparqlExecEvalListOrgaNumerical"),
    *("Text2SparqlExecEvalListOrganizational", "Text2SparqlTwin", "Text2SparqlWorld"),
    *("Text2UpdateWorld",),
)


def _cases(name: str) -> list[tuple[Case, str]]:
    """Return cases of every labelled task of a class with their reference answers."""
    module = catalogue.module(name)
    tasks = catalogue.task_class(name).tasks
    each = 1 if len(tasks) > _MANY else 2
    cases = [case for task in tasks for case in module.cases(task, "wrapped", 7, each)]
    return [(case, module.reference(case)) for case in cases]


def test_which_classes_want_a_block() -> None:
    """The task classes whose reference answers are fenced blocks, without tools, are these."""
    names = {task.task_class for task in catalogue.labelled_tasks().values()}
    names = {name for name in names if not hasattr(catalogue.module(name), "tools")}
    wanting = set()
    for name in names:
        module = catalogue.module(name)
        (case,) = module.cases(catalogue.task_class(name).tasks[0], "wrapped", 7, 1)
        if module.reference(case).startswith("```"):
            wanting.add(name)
    assert wanting == set(BLOCK_CLASSES)


@pytest.mark.parametrize("name", BLOCK_CLASSES)
def test_wrapping_a_correct_answer_keeps_its_scores(name: str) -> None:
    """Every way of wrapping a correct answer keeps its scores, except brevity beside other text."""
    module, executor = catalogue.module(name), PlainExecutor()
    for case, reference in _cases(name):
        first, _, rest = reference.partition("\n")
        info, document = first.removeprefix("```"), rest.removesuffix("\n```")
        plain = module.judge(case, [reference], executor)
        assert plain.next_prompt is None
        for way, wrapped in (ALONE | BESIDE_TEXT).items():
            answer = wrapped(info, document)
            verdict = module.judge(case, [answer], executor)
            free = {"brevity"} if way in BESIDE_TEXT else set()
            kept = {k: v for k, v in verdict.scores.items() if k not in free}
            wanted = {k: v for k, v in plain.scores.items() if k not in free}
            assert kept == wanted, (way, answer)
            assert verdict.next_prompt is None, (way, answer)


@pytest.mark.parametrize("decision", DECISIONS, ids=[one.form for one in DECISIONS])
def test_documented_decisions(decision: Decision) -> None:
    """Every example of the reference page has the stated blocks."""
    assert tuple(block.body for block in fenced_blocks(decision.answer)) == decision.bodies


@pytest.mark.parametrize(
    ("answer", "bodies"),
    [
        ("", []),
        ("   ```\nindented\n   ```", ["indented\n"]),
        ("    ```\ncode\n```", ["code\n"]),
        ("```\ncode\n```t", ["code\n"]),
        ("```inline```", []),
        ("A: ```\n1\n```\nB: ```\n2\n```", ["1\n", "2\n"]),
        ("~~~\n1\n```\n2\n~~~", ["1\n```\n2\n"]),
        ("```SELECT ?x\n{}\n```", ["SELECT ?x\n{}\n"]),
        ("Query: ```SELECT * {}```", ["SELECT * {}"]),
        ("```Hello' he said, and left\n\n```turtle\nx\n```", ["x\n"]),
        ("> > ```\n> >   a\n> > ```", ["  a\n"]),
        ("```markdown\n# No block inside\n```", ["# No block inside\n"]),
        ("```turtle (corrected)\nx\n```", ["x\n"]),
        ("This is ~~~\nno block", []),
    ],
)
def test_further_forms(answer: str, bodies: list[str]) -> None:
    """Combinations of the documented rules have the expected blocks."""
    assert [block.body for block in fenced_blocks(answer)] == bodies
    (block,) = fenced_blocks("See:\n```turtle\n:a :b :c .\n\n```\nThat is all.")
    assert (block.info, block.source) == ("turtle", "```turtle\n:a :b :c .\n\n```")


@given(TEXTS, st.lists(st.text(alphabet="ab \n.", max_size=20), max_size=5))
def test_plain_blocks_are_found(prose: str, bodies: list[str]) -> None:
    """Every block that was put into an answer is found, and every block found is in the answer."""
    answer = "".join(f"```\n{body}\n```\n" for body in bodies)
    assert [block.body for block in fenced_blocks(answer)] == [f"{body}\n" for body in bodies]
    assert all(block.source in prose + answer for block in fenced_blocks(prose + answer))


@given(FENCED)
def test_blocks_are_parts_of_any_answer(answer: str) -> None:
    """Each source is part of the answer, and each line of a body is part of its source."""
    for block in fenced_blocks(answer):
        lines = {line.strip() for line in block.body.split("\n")}
        assert all(line in block.source for line in lines)
        if block.info != "markdown":
            assert block.source in answer


@pytest.mark.external
@pytest.mark.parametrize("generation", ["llm-kg-bench-v2", "llm-kg-bench-v3"])
def test_published_blocks(external_data: Path, generation: str) -> None:
    """Documents, queries and numbers of blocks are as published."""
    seen = 0
    for archive in published.archives(external_data, generation):
        for record in published.records(archive):
            for (_, infos), answer in zip(
                published.rounds(record), published.answers(record), strict=True
            ):
                bodies = [block.body.strip() for block in fenced_blocks(answer)]
                if "rdfString" in infos:
                    assert len(bodies) == infos["codeBlockCount"]
                    assert bodies[:1] == [infos["rdfString"]]
                    seen += 1
                elif "sparql" in infos:
                    queries = [body for body in bodies if "SELECT" in body]
                    assert next(iter(queries), None) == infos["sparql"]
                    seen += 1
    assert (seen > 0) == (generation == "llm-kg-bench-v3")
