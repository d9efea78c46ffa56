# SPDX-License-Identifier: Apache-2.0
"""Every error that kgbench raises on purpose.

::

    KgbenchError                 never raised itself; catch it to catch all of them
    ├── ConfigurationError       a configuration was refused; carries the findings
    ├── ResourceError            a declared resource is missing or damaged
    ├── TaskError                an unknown or unusable task class, task or case
    ├── ModelSpecError           a model specification that no connector understands
    ├── EnvironmentVariableError  a variable has an unusable value
    ├── ProviderError            a provider did not answer
    │   ├── ProviderTimeout      ... in time
    │   ├── RateLimited          ... because of a limit; says when to come back
    │   ├── ProviderRefused      ... and never will (key, model name, request)
    │   └── ContextTooLong       ... because the conversation is too long for the model
    ├── StoreError               the store cannot be read or written
    │   ├── StoreInUse           another process owns it
    │   ├── NotRecorded          it lacks the run, pass, case or task that is named
    │   ├── StoreUnreachable     the server that keeps it does not answer
    │   ├── WriteFailed          a write failed during a run (disk full, quota, read-only)
    │   └── LayoutError          an incompatible version wrote it
    ├── ImportRefused            an input is invalid; nothing was written
    ├── PublicationRefused       a publication would go wrong; nothing was published
    ├── JudgeRefused             a judge is not fit for use; no model was called
    ├── SignatureError           a signature or key is invalid; nothing is trusted
    ├── QueryError               a query is unknown or wrong, or lacks a parameter
    └── EvaluationError          a judge failed on an answer (a defect, not a wrong answer)

A message says what happened, to which resource, and what to do about it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path


def program(name: str) -> str:
    """Return how a shell in this folder calls a program that belongs to the running Python."""
    import shlex
    import shutil  # needed only for a message

    place = Path(sys.executable).parent / name
    found = shutil.which(name)
    if found is not None and Path(found) == place:
        return name
    with suppress(ValueError):
        place = place.relative_to(Path.cwd())
    return shlex.quote(str(place))


def pip_install(*needs: str) -> str:
    """Return a command that installs distributions for the running Python."""
    import shlex

    return f"{program('python')} -m pip install {shlex.join(needs)}"


class KgbenchError(Exception):
    """Superclass of all errors below; never raised itself."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a configuration was refused.

    ``source`` is the file's name, ``pointer`` a JSON pointer into it (``""`` is the whole
    document), ``line`` counts from 1 where it is known.
    """

    source: str
    pointer: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        position = self.source if self.line is None else f"{self.source}:{self.line}"
        within = f"{self.pointer}: " if self.pointer else ""
        return f"{position}: {within}{self.message}"


class ConfigurationError(KgbenchError):
    """A configuration was refused before anything ran."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("\n".join(str(finding) for finding in findings))


class ResourceError(KgbenchError):
    """A declared resource (ontology, shape, task, query) is missing or damaged."""


class TaskError(KgbenchError):
    """A task class, task or case is unknown or cannot be used."""


class ModelSpecError(KgbenchError):
    """No connector understands a model specification, or one of its parameters."""


class EnvironmentVariableError(KgbenchError):
    """An environment variable has an unusable value; the message names it and says what to do."""


class ProviderError(KgbenchError):
    """A provider did not answer; the call may be repeated.

    ``status`` is that of the HTTP response, ``None`` where there was none. ``again_after`` is set
    where a protocol says after how many seconds a call is repeated. ``raw`` is the text of a
    successful response that could not be parsed, though it may have been paid for.
    """

    status: int | None = None
    again_after: float | None = None
    raw: str | None = None


class ProviderTimeout(ProviderError):
    """A provider did not answer in time."""


LEAST_WAIT = 0.1  # seconds


class RateLimited(ProviderError):
    """A provider asks for fewer calls; ``retry_after`` is in seconds, ``None`` if unsaid.

    A wait below :data:`LEAST_WAIT`, such as ``Retry-After: 0`` or a date that is past, is unsaid:
    a provider that refuses calls without end would be called without a pause.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        too_short = retry_after is not None and retry_after < LEAST_WAIT
        self.retry_after = None if too_short else retry_after
        super().__init__(message)


class ProviderRefused(ProviderError):
    """A provider refuses for a reason that no retry cures (key, model name, request)."""


class ContextTooLong(ProviderError):
    """A conversation is longer than the model takes; asking again does not shorten it."""


class StoreError(KgbenchError):
    """The store cannot be read or written."""


class StoreInUse(StoreError):
    """Another process owns the store."""


class NoStore(StoreError):
    """There is no store at the location."""


class NotRecorded(StoreError):
    """The store lacks the run, pass, case or task that is named."""


class StoreUnreachable(StoreError):
    """The server that keeps the store does not answer, not even after all retries."""


class WriteFailed(StoreError):
    """A write of a run failed: a full disk, a quota, a store that is gone."""


class LayoutError(StoreError):
    """The store was written with a layout that this version does not read."""


class ImportRefused(KgbenchError):
    """An input is invalid; nothing of it was written."""


class PublicationRefused(KgbenchError):
    """A publication would reveal secrets or private data, or overwrite files of another owner."""


class JudgeRefused(KgbenchError):
    """A judge decides differently from before, so that its verdicts would not be comparable."""


class SignatureError(KgbenchError):
    """A signature does not match, its key is not trusted, or a key cannot be used."""


class QueryError(KgbenchError):
    """A query is unknown or wrong, or lacks a parameter."""


class EvaluationError(KgbenchError):
    """A judge failed on an answer; this is a defect of the judge, not a wrong answer."""


_NAMED = 12  # maximal number of names in a message


def closest(name: str, among: Iterable[str], most: int = 3) -> str | None:
    """Return a phrase with up to ``most`` entries of ``among`` close to ``name``, if there are any.

    >>> closest("oracel", ["oracle", "noisy"])
    'did you mean oracle?'
    """
    matches = get_close_matches(name, sorted(among), n=most, cutoff=0.5)
    return f"did you mean {' or '.join(matches)}?" if matches else None


def nearest(name: str, among: Iterable[str]) -> str:
    """Return a phrase with the entries of ``among`` closest to ``name``, or with all if none is.

    >>> nearest("x", ["oracle", "noisy"])
    'known are noisy, oracle'
    """
    options = sorted(among)
    if (phrase := closest(name, options)) is not None:
        return phrase
    more = f" and {len(options) - _NAMED} more" if options[_NAMED:] else ""
    return f"known are {', '.join(options[:_NAMED])}{more}" if options else "there are none"
