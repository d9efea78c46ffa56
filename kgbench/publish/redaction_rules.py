# SPDX-License-Identifier: Apache-2.0
"""Redaction rules and published IRIs for a store, including names of hosts and people in it.

Hosts and paths occur in the names of models, in configurations and in messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyoxigraph as ox

from kgbench.connectors import keys
from kgbench.connectors.declared import declarations
from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish.addresses import Addresses, DigestVeil, cases
from kgbench.publish.quad_redaction import RedactionRules
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.scrubbing import Scrubber, hosts_and_people, local_names
from kgbench.secrets import secret_names
from kgbench.secrets.detection import SecretDetector
from kgbench.secrets.publication_key import PublicationKey
from kgbench.store import publication_keys
from kgbench.store.iris import slug
from kgbench.vocab import KGB, PROV, RDF, RDFS, SCHEMA, SKOS

_CONNECTOR = ox.NamedNode(KGB.connector)
_NAMED = re.compile(r"\bkey_env\b[\"']?\s*[=:]\s*[\"']?(\w+)")


def prepare_rules(
    view: View,
    location: str,
    base: str,
    level: RedactionLevel,
    runs: Mapping[str, str] | None = None,
) -> tuple[RedactionRules, Addresses]:
    """Return the redaction rules and addresses for publishing the store ``location`` at ``base``.

    ``runs`` has the run of each evaluation pass, for parts that are named by fragments.
    """
    scrubber = Scrubber(
        local_names() | hosts_and_people(identifying_texts(view.database)),
        SecretDetector(known_keys(view.database)),
    )
    key = publication_keys.publication_key(location)
    addresses = Addresses(
        view.iris.base,
        base,
        renamed_segments(view, scrubber, key),
        None if level is RedactionLevel.NONE else DigestVeil(key, cases(view.database, level, key)),
        runs,
    )
    return RedactionRules(level, scrubber, key, level), addresses


def known_keys(database: ox.Store) -> frozenset[str]:
    """Return the keys of this process, and those that the runs in a store used, if they are here.

    These are in the variables of their connectors, and in those that configurations name.
    """
    texts = identifying_texts(database)
    variables = {match[1] for text in texts for match in _NAMED.finditer(text)}
    used = {quad.object for quad in database.quads_for_pattern(None, _CONNECTOR, None)}
    for name, declared in declarations().items():
        if declared.service is not None and ox.Literal(name) in used:
            variables.update(declared.service.keys)
    known = keys.keys_in_use() | keys.held(variables)
    long = {key for key in known if len(key) >= secret_names.SHORTEST}
    return secret_names.secrets_in_environment() | long


def identifying_texts(database: ox.Store) -> Iterator[str]:
    """Yield texts that may name hosts and people."""
    for predicate in (KGB.baseUrl, SCHEMA.error, KGB.caseEndpoint):
        for quad in database.quads_for_pattern(None, ox.NamedNode(predicate), None):
            yield str(getattr(quad.object, "value", ""))
    for kind in (KGB.Configuration, KGB.Model):
        pattern = (None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
        for quad in database.quads_for_pattern(*pattern):
            for predicate in (PROV.value, RDFS.label, SKOS.notation):
                quads: Any = database.quads_for_pattern(quad.subject, ox.NamedNode(predicate), None)
                yield from (str(getattr(match.object, "value", "")) for match in quads)


def renamed_segments(view: View, scrubber: Scrubber, key: PublicationKey) -> dict[str, str]:
    """Return replacements for path segments of models that contain their host or path."""
    replacements = {}
    for iri in things.instances(view, KGB.Model, 1_000_000):
        segment = iri.rpartition("/")[2]
        base_urls = things.values(view, iri, KGB.baseUrl)
        texts = [t.value for p in (RDFS.label, SKOS.notation) for t in things.values(view, iri, p)]
        leaks = any(scrubber.text(text) != text for text in texts) or any(
            _contains_name(segment, name) for name in scrubber.names
        )
        if leaks or any(scrubber.text(url.value) != url.value for url in base_urls):
            cleaned = slug(scrubber.text(texts[0] if texts else "model"))
            replacements[segment] = f"{cleaned}-{key.tag('model', iri)[:8]}"
    return replacements


def _contains_name(segment: str, name: str) -> bool:
    """Return whether a path segment contains the name of a machine or person as a whole word."""
    pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
    return re.search(pattern, segment) is not None
