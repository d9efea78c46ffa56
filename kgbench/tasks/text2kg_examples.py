# SPDX-License-Identifier: Apache-2.0
"""Choosing the demonstration examples of a prompt from the training sentences.

No test sentence is ever its own example: a training sentence with the same words is passed over,
and the next one takes its place.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kgbench.datasets.text2kgbench import Part, Sentence
from kgbench.errors import TaskError

_WORD = re.compile(r"\w+")


class Chooser:
    """Chooses examples for the test sentences of one ontology.

    ``selection`` is ``similarity-list`` (the published ones, in their order), ``embeddings`` (lists
    that ``kgbench datasets similar`` has made), ``lexical`` (cosine of TF-IDF vectors of words) or
    ``none``; ``count`` is how many examples at most.
    """

    def __init__(self, part: Part, selection: str, count: int) -> None:
        self._count = 0 if selection == "none" else count
        self._by_id = part.training
        self._lists: Mapping[str, tuple[str, ...]] = {}
        self._lexical: LexicalIndex | None = None
        if not self._count:
            return
        if selection == "lexical":
            self._lexical = LexicalIndex(tuple(dict.fromkeys(self._by_id.values())))
        else:
            self._lists = part.similar(selection)

    def check(self, sentences: Iterable[Sentence]) -> None:
        """Refuse sentences of which the lists know nothing.

        Raises :class:`~kgbench.errors.TaskError`, which names the first one.
        """
        if self._count and self._lexical is None:
            for sentence in sentences:
                self._listed(sentence)

    def examples(self, sentence: Sentence) -> list[Sentence]:
        """The examples for ``sentence``, best first; fewer where there are no more."""
        if not self._count:
            return []
        own = _same(sentence.text)
        found: list[Sentence] = []
        for candidate in self._candidates(sentence):
            if _same(candidate.text) == own or candidate in found:
                continue
            found.append(candidate)
            if len(found) == self._count:
                break
        return found

    def _candidates(self, sentence: Sentence) -> Sequence[Sentence]:
        if self._lexical is not None:
            return self._lexical.nearest(sentence.text)
        return [self._by_id[name] for name in self._listed(sentence) if name in self._by_id]

    def _listed(self, sentence: Sentence) -> Sequence[str]:
        found = self._lists.get(sentence.id)
        if found is None:
            raise TaskError(f"the similarity lists have no entry for {sentence.id}")
        return found


class LexicalIndex:
    """Training sentences by the cosine of their TF-IDF vectors of lower-case words.

    A word in k of n sentences weighs log((1 + n) / (1 + k)) + 1 for each occurrence; ties keep the
    order of the data.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        counts = [_words(sentence.text) for sentence in sentences]
        occurs = Counter(word for each in counts for word in each)
        n = len(sentences)
        self._weight = {word: math.log((1 + n) / (1 + k)) + 1 for word, k in occurs.items()}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for k, each in enumerate(counts):
            vector = {word: times * self._weight[word] for word, times in each.items()}
            length = math.sqrt(math.fsum(value * value for value in vector.values())) or 1.0
            for word, value in vector.items():
                self._postings.setdefault(word, []).append((k, value / length))

    def nearest(self, text: str) -> list[Sentence]:
        """All training sentences, the most similar first."""
        scores = [0.0] * len(self._sentences)
        for word, times in sorted(_words(text).items()):
            for k, value in self._postings.get(word, ()):
                scores[k] += times * self._weight[word] * value
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        return [self._sentences[k] for k in order]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _same(text: str) -> str:
    """What two texts share if they have the same words: lower case, blanks and marks left out."""
    return "".join(_WORD.findall(text.lower()))
