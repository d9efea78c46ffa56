# SPDX-License-Identifier: Apache-2.0
"""Detection of mentions of an entity in another form: acronym, other name, date, number.

The published hallucination metrics look only for the entity's own words. Their authors name the
forms that this misses (Mihindukulasooriya et al., ISWC 2023, sections 5.4 and 7): acronyms, their
expansions, and other names of the same thing. Dates and numbers have many forms, too.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH_NUMBERS = {form: k for k, m in enumerate(_MONTHS, 1) for form in (m, m[:3])} | {"sept": 9}
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_ISO_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*")
_DAY_FIRST = re.compile(r"\s*(\d{1,2})\s+([a-z]+)\.?,?\s+(\d{4})\s*")
_MONTH_FIRST = re.compile(r"\s*([a-z]+)\.?\s+(\d{1,2}),?\s+(\d{4})\s*")
_BRACKETED = re.compile(r"\([^()]*\)")
_SMALL = frozenset({"a", "an", "and", "at", "by", "for", "in", "of", "on", "the", "to", "de"})
_LEAST_ACRONYM = 2
_LEAST_NAME = 4  # characters of a word that can stand for a whole name


@dataclass(frozen=True)
class MentionedIn:
    """A sentence with cached indexes, for tests of many entities."""

    sentence: str

    def mentions(self, entity: str) -> bool:
        """Return whether the sentence mentions ``entity``, a date, number, acronym or other name.

        * A date is mentioned if its year is and, unless it is 1 January (the data's filler for a
          whole year), also its day and month.
        * A number is mentioned if a number with the same value is.
        * An acronym is mentioned if consecutive words have its letters as initials, an expansion if
          its acronym is mentioned; small words may be left out.
        * A name is mentioned if all its words are, in any order and without diacritics; text in
          brackets is ignored. It is also mentioned if the last of several words is, provided it has
          at least four letters and a capital (a person by the family name).
        """
        if (date := _date(entity)) is not None:
            return self._has_date(*date)
        if _NUMBER.fullmatch(_plain_number(entity)):
            return float(_plain_number(entity)) in self._numbers
        return self._has_name(entity) or self._has_acronym(entity) or self._has_expansion(entity)

    @cached_property
    def _words(self) -> list[str]:
        return _WORD.findall(_without_accents(self.sentence))

    @cached_property
    def _lowered(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self._words)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        text = _GROUPED.sub("", self.sentence)
        return frozenset(float(number) for number in _NUMBER.findall(text) if len(number) < 300)  # noqa: PLR2004 - no number a float can hold is longer

    @cached_property
    def _initials(self) -> frozenset[str]:
        """Initials of all runs of two to eight words, with and without the small ones."""
        initials: set[str] = set()
        for words in (self._words, [w for w in self._words if w.lower() not in _SMALL]):
            letters = "".join(word[0] for word in words).upper()
            for length in range(_LEAST_ACRONYM, 9):
                initials.update(letters[k : k + length] for k in range(len(letters) - length + 1))
        return frozenset(initials)

    def _has_date(self, year: int, month: int, day: int) -> bool:
        if float(year) not in self._numbers:
            return False
        if (month, day) == (1, 1):
            return True
        named = any(_MONTH_NUMBERS.get(word) == month for word in self._lowered)
        return float(day) in self._numbers and (named or float(month) in self._numbers)

    def _has_name(self, entity: str) -> bool:
        words = _WORD.findall(_BRACKETED.sub(" ", _without_accents(entity)))
        if not words:
            return False
        if all(word.lower() in self._lowered for word in words):
            return True
        last = words[-1]
        return len(last) >= _LEAST_NAME and last[0].isupper() and last in self._words

    def _has_acronym(self, entity: str) -> bool:
        """Return whether the sentence writes out what ``entity`` abbreviates."""
        letters = entity.strip().replace(".", "")
        return letters.isupper() and letters in self._initials

    def _has_expansion(self, entity: str) -> bool:
        """Return whether the sentence abbreviates what ``entity`` writes out."""
        words = _WORD.findall(_without_accents(entity))
        for candidate in (words, [word for word in words if word.lower() not in _SMALL]):
            letters = "".join(word[0] for word in candidate).upper()
            if len(letters) >= _LEAST_ACRONYM and letters in self._capitals:
                return True
        return False

    @cached_property
    def _capitals(self) -> frozenset[str]:
        joined = re.sub(r"(?<=\b[A-Z])\.(?=[A-Z]\b)", "", self.sentence)
        return frozenset(word for word in _WORD.findall(joined) if word.isupper())


def is_date(text: str) -> bool:
    """Return whether ``text`` is a calendar date in one of the forms of the data.

    >>> is_date("01 January 2010"), is_date("1944-07-28"), is_date("2010 films")
    (True, True, False)
    """
    return _date(text) is not None


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number, with or without separators of thousands."""
    return _NUMBER.fullmatch(_plain_number(text)) is not None


def _plain_number(text: str) -> str:
    return _GROUPED.sub("", text.strip().strip("\"'"))


def _date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a text that is a date."""
    lowered = _ORDINAL.sub("", text.strip("\"' ").lower())
    if match := _ISO_DATE.fullmatch(lowered):
        return int(match[1]), int(match[2]), int(match[3])
    if (match := _DAY_FIRST.fullmatch(lowered)) and match[2] in _MONTH_NUMBERS:
        return int(match[3]), _MONTH_NUMBERS[match[2]], int(match[1])
    if (match := _MONTH_FIRST.fullmatch(lowered)) and match[1] in _MONTH_NUMBERS:
        return int(match[3]), _MONTH_NUMBERS[match[1]], int(match[2])
    return None


def _without_accents(text: str) -> str:
    """Return ``text`` without the marks of accented letters."""
    if text.isascii():
        return text
    # One character at a time, because normalising a long run of marks takes quadratic time.
    decomposed = (c for character in text for c in unicodedata.normalize("NFKD", character))
    return "".join(c for c in decomposed if not unicodedata.combining(c))
