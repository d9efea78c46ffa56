# SPDX-License-Identifier: Apache-2.0
"""Choice of the demonstration examples of a prompt from the training sentences.

No test sentence is ever its own example: a training sentence with the same words is skipped.
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

    ``selection`` is ``similarity-list`` (the published lists, in their order), ``embeddings``
    (lists made by ``kgbench datasets similar``), ``lexical`` (cosine of TF-IDF vectors of words) or
    ``none``; ``count`` is the greatest number of examples.
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
        """Check that the lists have entries for all ``sentences``.

        Raises :class:`~kgbench.errors.TaskError` with the first sentence without an entry.
        """
        if self._count and self._lexical is None:
            for sentence in sentences:
                self._listed(sentence)

    def examples(self, sentence: Sentence) -> list[Sentence]:
        """Return the examples for ``sentence``, best first; fewer if there are not enough."""
        if not self._count:
            return []
        test_words = _words_only(sentence.text)
        chosen: list[Sentence] = []
        for candidate in self._candidates(sentence):
            if _words_only(candidate.text) == test_words or candidate in chosen:
                continue
            chosen.append(candidate)
            if len(chosen) == self._count:
                break
        return chosen

    def _candidates(self, sentence: Sentence) -> Sequence[Sentence]:
        if self._lexical is not None:
            return self._lexical.nearest(sentence.text)
        return [self._by_id[name] for name in self._listed(sentence) if name in self._by_id]

    def _listed(self, sentence: Sentence) -> Sequence[str]:
        entry = self._lists.get(sentence.id)
        if entry is None:
            raise TaskError(f"the similarity lists have no entry for {sentence.id}")
        return entry


class LexicalIndex:
    """An index of training sentences by the cosine of TF-IDF vectors of lower-case words.

    Each occurrence of a word in k of n sentences has the weight log((1 + n) / (1 + k)) + 1; ties
    keep the order of the data.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        counts = [_words(sentence.text) for sentence in sentences]
        occurs = Counter(word for word_counts in counts for word in word_counts)
        n = len(sentences)
        self._weight = {word: math.log((1 + n) / (1 + k)) + 1 for word, k in occurs.items()}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for k, word_counts in enumerate(counts):
            vector = {word: times * self._weight[word] for word, times in word_counts.items()}
            length = math.sqrt(math.fsum(value * value for value in vector.values())) or 1.0
            for word, value in vector.items():
                self._postings.setdefault(word, []).append((k, value / length))

    def nearest(self, text: str) -> list[Sentence]:
        """Return all training sentences, the most similar first."""
        scores = [0.0] * len(self._sentences)
        for word, times in sorted(_words(text).items()):
            for k, value in self._postings.get(word, ()):
                scores[k] += times * self._weight[word] * value
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        return [self._sentences[k] for k in order]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _words_only(text: str) -> str:
    """Return a key that is equal for texts with the same words, ignoring case and punctuation."""
    return "".join(_WORD.findall(text.lower()))
