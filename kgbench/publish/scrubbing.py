# SPDX-License-Identifier: Apache-2.0
"""Removal of keys, hosts, login names and local paths from published texts.

It is applied to texts by kgbench and providers (configurations, labels, error messages, notes), not
to prompts and answers; these are only searched for keys.

>>> scrubber = Scrubber()
>>> scrubber.text("no answer from http://gpu-7.lab:8000/v1 for /home/ann/run.yaml")
'no answer from [address] for [path]'
>>> scrubber.text("see https://api.openai.com/v1")
'see https://api.openai.com/v1'
"""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from kgbench.model import Json
from kgbench.secrets import SecretDetector, hide_keys, is_recorded_secret_field, published_keys

KEY = "[key]"

#: Domains that do not identify the publisher: public providers, vocabularies, archives.
PUBLIC = frozenset(
    (
        "openai.com",
        "anthropic.com",
        "generativelanguage.googleapis.com",
        "google.com",
        "groq.com",
        "mistral.ai",
        "together.xyz",
        "together.ai",
        "openrouter.ai",
        "deepseek.com",
        "fireworks.ai",
        "huggingface.co",
        "x.ai",
        "cohere.com",
        "cohere.ai",
        "perplexity.ai",
        "deepinfra.com",
        "cerebras.ai",
        "sambanova.ai",
        "nvidia.com",
        "aliyuncs.com",
        "moonshot.cn",
        "moonshot.ai",
        "w3.org",
        "w3id.org",
        "purl.org",
        "xmlns.com",
        "schema.org",
        "spdx.org",
        "europa.eu",
        "wikidata.org",
        "dbpedia.org",
        "arxiv.org",
        "doi.org",
        "github.com",
        "zenodo.org",
        "githubusercontent.com",
        "ceur-ws.org",
        "creativecommons.org",
        "python.org",
        "semanticweb.org",
        "example.org",
        "example.com",
        "example.net",
        "mlcommons.org",
        "rdfs.org",
        "aksw.org",
    )
)
# Look-behinds, possessive repetitions and limits keep these patterns linear: no search restarts
# within characters that an unsuccessful one has consumed.
_URL = re.compile(r"(?<![a-zA-Z0-9+.-])[a-zA-Z0-9+.-]++://[^\s\"'<>\\)\]}|]*")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)++")
_ADDRESS = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.])"
    r"|\[(?=[0-9a-fA-F.]*+:)[0-9a-fA-F:.]++\](?::\d{1,5})?|(?<![\w:])::1(?![\w:])"
    r"|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F:]*+(?![\w:])"
)
_PRIVATE_NAME = re.compile(
    r"(?i)(?<![\w.-])[\w.-]*[\w-]\.(?:local|lan|internal|intranet|corp|localdomain|localhost)\b"
    r"(?::\d{1,5})?|(?<![\w.-])localhost(?::\d{1,5})?\b"
)
# A path may follow an encoded sign, such as the space in ``mcp=python%20/home/ann/server.py``.
_PATH_START = r"(?:(?<![\w/.<])|(?<=%[0-9A-Fa-f]{2}))"
_ENCODED_SLASH = r"%(?:25){0,3}2[Ff]"
_PATH = re.compile(
    rf"{_PATH_START}(?:~|\.\.?)?/(?!v\d\w*+/|api/)(?:[\w.@+~%-]++/)++[\w.@+~%-]*"
    rf"|{_PATH_START}/(?:home|root|Users|tmp|mnt|srv|opt|var)\b[\w.@+~%/-]*"
    r"|(?<![\w/.<~])~[A-Za-z_][\w.-]*+/[\w.@+~%/-]*"
    rf"|{_PATH_START}(?:~|\.\.?)?{_ENCODED_SLASH}(?!v\d\w*+%|api%)"
    rf"(?:[\w.@+~-]|%(?!(?:25){{0,3}}2[Ff]))++{_ENCODED_SLASH}[\w.@+~%-]*"
    r"|\b[A-Za-z]:\\+[^\s\"'<>|]+|\\\\\\?\\?[\w.-]++\\+[^\s\"'<>|]+"
    r"|\b[A-Za-z]%(?:25){0,3}3[Aa]%(?:25){0,3}5[Cc][\w.@+~%-]*"
)
#: What is replaced, with the folded signs of which it contains one (finding these is quicker).
_MARKED = (
    (("@",), _MAIL, "[address]"),
    (("/", "\\", "%"), _PATH, "[path]"),
    ((".", "localhost"), _PRIVATE_NAME, "[host]"),
    ((".", ":"), _ADDRESS, "[address]"),
)
_HOMES = re.compile(
    rf"(?:/(?:home|Users)/|{_ENCODED_SLASH}(?:home|Users){_ENCODED_SLASH}|[A-Za-z]:\\+Users\\+)"
    r"([\w.@+-]+)"
)
_HOME_WORDS = ("home", "Users", "root", "mnt", "srv")
_HOME = f"(?:{'|'.join(_HOME_WORDS)})"
_HOME_IN_IRI = re.compile(
    rf"{_PATH_START}/{_HOME}/[\w.@+-]+|{_ENCODED_SLASH}{_HOME}{_ENCODED_SLASH}[\w.@+-]+"
    r"|\b[A-Za-z]%(?:25){0,3}3[Aa]%(?:25){0,3}5[Cc]Users%(?:25){0,3}5[Cc][\w.@+-]+"
)
#: Private parts of any text: their kinds, and signs of which each contains one.
_PRIVATE = (
    ("a local path", _HOME_WORDS, _HOME_IN_IRI),
    (
        "a local path",
        ("\\Users\\", "file:/", "~"),
        re.compile(
            r"\b[A-Za-z]:\\+Users\\+[\w.@+-]+|\bfile:///?[\w.~-]|(?<![\w/.<~])~[A-Za-z_][\w.-]*+/"
        ),
    ),
    (
        "a host",
        (".local", ".lan", ".internal", ".intranet", ".corp", "localhost"),
        _PRIVATE_NAME,
    ),
    (
        "a host",
        ("127.", "192.168.", "10.", "172."),
        re.compile(
            r"(?<![\w.])(?:127\.\d{1,3}|10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))"
            r"(?:\.\d{1,3}){2}(?![\w.])"
        ),
    ),
    ("a user", ("@",), re.compile(r"[a-z]://[^\s/@\"<>]{1,200}:[^\s/@\"<>]{1,200}@")),
)
_PLAIN = re.compile(r"(?!.*localhost)[\w ,;=+()-]*")  # nothing that could be an address
_COMMON = frozenset(
    (
        "root",
        "user",
        "users",
        "admin",
        "home",
        "data",
        "model",
        "models",
        "test",
        "tests",
        "public",
        "shared",
        "runner",
        "ubuntu",
        "none",
        "main",
        "host",
        "name",
        "key",
        "path",
        "run",
        "task",
        "the",
        "and",
        "app",
        "web",
        "work",
        "default",
        "baseline",
    )
)
_SHORTEST = 3
_WORDS = 60  # characters; shorter texts, such as labels, recur in each dialogue and are cached
_MOST_KNOWN = 5_000
_MOST_SEARCHED = 100_000  # IRIs


class Revealed(NamedTuple):
    """A part of a text that must not be published, and its kind in words."""

    kind: str
    text: str


class Scrubber:
    """Removes what is not published; ``names`` are known names of hosts and people.

    ``secrets`` are removed in every encoding in which they are recognised.
    """

    def __init__(self, names: Iterable[str] = (), secrets: SecretDetector | None = None) -> None:
        usable = {n for n in names if len(n) >= _SHORTEST and n.lower() not in _COMMON}
        self.names = frozenset(usable)
        self.secrets = SecretDetector(()) if secrets is None else secrets
        self._names = _any_of(self.names)
        self._known: dict[str, str] = {}
        self._searched: dict[str, Revealed | None] = {}

    def text(self, value: str) -> str:
        """Return ``value`` without secrets, hosts, names, addresses and paths."""
        if len(value) > _WORDS:
            return self._scrubbed(value)
        scrubbed = self._known.get(value)
        if scrubbed is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            scrubbed = self._known[value] = self._scrubbed(value)
        return scrubbed

    def _scrubbed(self, value: str) -> str:
        value = self.secrets.hide(value, KEY)
        has_addresses = not _PLAIN.fullmatch(value)
        if has_addresses and "://" in value:
            value = _URL.sub(lambda match: _hide_private(match.group()), value)
        value = hide_keys(value, KEY)
        if has_addresses:
            folded = value.casefold()
            for signs, pattern, mark in _MARKED:
                if any(sign in folded for sign in signs):
                    value = pattern.sub(mark, value)
        return value if self._names is None else self._names.sub("[name]", value)

    def json(self, value: Json, name: str = "") -> Json:
        """Return ``value`` with all texts scrubbed, and texts in fields for secrets removed."""
        if isinstance(value, str):
            return KEY if value and is_recorded_secret_field(name) else self.text(value)
        if isinstance(value, list):
            return [self.json(item, name) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.json(item, key) for key, item in value.items()}
        return value

    def revealed(self, iri: str) -> Revealed | None:
        """Return what an IRI reveals; ``None`` for one that anybody may know.

        Known names are allowed in IRIs of public hosts, such as those of the vocabulary.
        """
        if iri not in self._searched:
            if len(self._searched) >= _MOST_SEARCHED:
                self._searched.clear()
            self._searched[iri] = self._revealed(iri)
        return self._searched[iri]

    def _revealed(self, iri: str) -> Revealed | None:
        key = next(published_keys(iri), None)
        if key is None and (self.tells(iri) or ("?" in iri and hide_keys(iri, KEY) != iri)):
            key = iri
        if key is not None:
            return Revealed("a key", key)
        if _is_private("/".join(iri.split("/", 3)[:3])):
            return Revealed("a private address", iri)
        if any(word in iri for word in _HOME_WORDS) and (path := _HOME_IN_IRI.search(iri)):
            return Revealed("a local path", path.group())
        name = None if self._names is None else self._names.search(iri)
        return None if name is None or is_public(iri) else Revealed("a name", name.group())

    def private_parts(self, text: str) -> Iterator[Revealed]:
        """Yield the first local path, private host, user and known name in any text."""
        for kind, signs, pattern in _PRIVATE:
            if any(sign in text for sign in signs) and (match := pattern.search(text)):
                yield Revealed(kind, match.group())
        if self._names is not None and (match := self._names.search(text)):
            yield Revealed("a name", match.group())

    def tells(self, text: str) -> bool:
        """Return whether a text of a model contains one of the secrets."""
        return self.secrets.tells(text)


def is_public(iri: str) -> bool:
    """Return whether anybody may know the host in ``iri``.

    IRIs of schemes without hosts are public, except those of files.
    """
    try:
        parts = urlsplit(iri)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme not in ("http", "https", "ftp"):
        return parts.scheme not in ("file", "") and not host
    if parts.username or parts.password:
        return False
    labels = host.split(".")
    return any(".".join(labels[k:]) in PUBLIC for k in range(len(labels)))


def is_private(iri: str) -> bool:
    """Return whether ``iri`` names a file, or a host in a private network."""
    try:
        parts = urlsplit(iri)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return True
    if parts.scheme == "file" or parts.username or parts.password:
        return True
    if parts.scheme not in ("http", "https", "ftp", "ws", "wss"):
        return False
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or _PRIVATE_NAME.fullmatch(host) is not None


_is_private = lru_cache(maxsize=10_000)(is_private)  # for the part of an IRI before the path


def hosts_and_people(texts: Iterable[str]) -> set[str]:
    """Return the private hosts in URLs, and the owners of home folders, in ``texts``."""
    names = set()
    for text in texts:
        for match in _URL.finditer(text):
            try:
                parts = urlsplit(match.group())
                host = parts.hostname
            except ValueError:
                continue
            names |= {n for n in (parts.username, parts.password) if n}
            if host and not is_public(f"http://{host}/"):
                names.add(host)
                names |= _machine(host)
        names |= set(_HOMES.findall(text))
    return names


def _machine(host: str) -> set[str]:
    """Return the first label of a host if it looks like a machine: ``gpu-7``, not ``api``."""
    first = host.partition(".")[0]
    return {first} if re.search(r"[0-9-]", first) and not _is_address(host) else set()


def local_names() -> set[str]:
    """Return the names of this machine and its user."""
    names = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    with contextlib.suppress(KeyError, OSError):  # the user has no entry in the user database
        names.add(getpass.getuser())
    return names


def _any_of(words: Iterable[str]) -> re.Pattern[str] | None:
    choices = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![\w-])(?:{choices})(?![\w-])") if choices else None


def _hide_private(url: str) -> str:
    end = url.rstrip(".,;:")
    return url if is_public(end) else "[address]" + url[len(end) :]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
