# SPDX-License-Identifier: Apache-2.0
"""Exports claims of a publication as nanopublications with trusty IRIs, signed with RSA, offline.

A nanopublication (nanopub.net) has the claim as its assertion, the evaluation passes and the
publication as provenance, and author and time as publication info. The ``nanopub`` library signs;
nothing is sent to a server. Version 2.0.1 of the library accepts any signature, so :func:`verified`
checks the signature over the library's normalised quads with ``cryptography``.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyoxigraph as ox
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kgbench.api import ResourceError
from kgbench.characters import without_bom
from kgbench.errors import SignatureError
from kgbench.publish.folder import contents
from kgbench.publish.settings import Agent
from kgbench.publish.signing import CLAIMS
from kgbench.rdf.quads import moment, statements_about, type_statements
from kgbench.signing.keys import private_key
from kgbench.vocab import DCTERMS, FOAF, NP, NPX, PROV

PLACE: Final = "nanopublications"


def nanopublications(
    site: Path, key: Path, author: Agent, licence: str | None, now: datetime
) -> Iterator[tuple[str, bytes]]:
    """Yield a nanopublication for each claim in the published folder ``site``.

    Yields file names, which are the ends of the trusty IRIs, and TriG. ``key`` is the file of a
    private RSA key; ``author`` must have an IRI. Raises :class:`~kgbench.errors.ResourceError` if
    there are no claims, and :class:`~kgbench.errors.SignatureError` for an unusable key.
    """
    from nanopub import Nanopub, NanopubConf, Profile
    from rdflib import ConjunctiveGraph

    if author.iri is None:
        raise ResourceError(
            "the author of nanopublications needs an IRI: 'Name <https://orcid.org/...>'"
        )
    secret = private_key(key)
    if not isinstance(secret, rsa.RSAPrivateKey):
        raise SignatureError(f"{key} is not an RSA key: make one with kgbench keys new --rsa")
    text = secret.private_bytes(pem.Encoding.DER, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    profile = Profile(author.iri, author.name, base64.b64encode(text).decode())
    claims = [
        path
        for name, path in contents(site).files.items()
        if name.startswith(f"{CLAIMS}/") and name.endswith(".ttl")
    ]
    if not claims:
        raise ResourceError(f"{site} has no claims: publish it again, or name a published folder")
    for path in claims:
        unsigned = ox.serialize(_quads(path, author, licence, now), format=ox.RdfFormat.N_QUADS)
        assert unsigned is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the library uses ConjunctiveGraph
            graph = ConjunctiveGraph()
            graph.parse(data=unsigned.decode(), format="nquads")
            nanopublication = Nanopub(rdf=graph, conf=NanopubConf(profile=profile))
            nanopublication.sign()
            signed = nanopublication.rdf.serialize(format="nquads")
        # By way of N-Quads and pyoxigraph, because the TriG of rdflib changes the text of numbers.
        trig = ox.serialize(
            ox.parse(signed.encode(), ox.RdfFormat.N_QUADS), format=ox.RdfFormat.TRIG
        )
        assert trig is not None
        yield str(nanopublication.source_uri).rpartition("/")[2], trig


def verified(content: bytes) -> str:
    """Verify a nanopublication in TriG, and return its trusty IRI.

    Raises :class:`~kgbench.errors.SignatureError` if its form, trusty IRI or signature is invalid.
    """
    from nanopub import Nanopub
    from nanopub.trustyuri.rdf import RdfHasher, RdfUtils
    from nanopub.utils import MalformedNanopubError
    from rdflib import ConjunctiveGraph

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            graph = ConjunctiveGraph()
            graph.parse(data=content.decode(), format="trig")
            read = Nanopub(rdf=graph)
            _ = read.is_valid, read.has_valid_trusty  # these properties raise if it is not
            metadata: Any = read.metadata
            signed = [q for q in RdfUtils.get_quads(read.rdf) if str(q[2]) != NPX.hasSignature]
            normalised = RdfHasher.normalize_quads(
                signed, baseuri=str(metadata.namespace), hashstr=" "
            )
            public = pem.load_der_public_key(base64.b64decode(str(metadata.public_key)))
            if not isinstance(public, rsa.RSAPublicKey):
                raise SignatureError("the key of the nanopublication is not an RSA key")
            signature = base64.b64decode(str(metadata.signature))
            public.verify(signature, normalised.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            raise SignatureError("the signature does not match the nanopublication") from None
        except MalformedNanopubError as error:
            raise SignatureError(f"the nanopublication is not valid: {error}") from None
    return str(read.source_uri)


def _quads(path: Path, author: Agent, licence: str | None, now: datetime) -> Iterator[ox.Quad]:
    """Yield the unsigned nanopublication, whose IRI is the trusty IRI without the hash."""
    claim = list(ox.parse(without_bom(path.read_bytes()), ox.RdfFormat.TURTLE))
    subject: Any = claim[0].subject
    base = subject.value.partition(f"{CLAIMS}/")[0]
    this = ox.NamedNode(f"{base}{PLACE}/")
    parts = {
        name: ox.NamedNode(this.value + name) for name in ("assertion", "provenance", "pubinfo")
    }
    derivations = [triple for triple in claim if triple.predicate.value == PROV.wasDerivedFrom]
    graphs = {
        "Head": [
            *type_statements(this, NP.Nanopublication),
            *statements_about(
                this,
                (NP.hasAssertion, parts["assertion"]),
                (NP.hasProvenance, parts["provenance"]),
                (NP.hasPublicationInfo, parts["pubinfo"]),
            ),
        ],
        "assertion": [triple for triple in claim if triple not in derivations],
        "provenance": statements_about(
            parts["assertion"],
            *((PROV.wasDerivedFrom, triple.object) for triple in derivations),
            (PROV.wasDerivedFrom, f"{base}#dataset"),
            (PROV.wasAttributedTo, author.iri),
        ),
        "pubinfo": [
            *statements_about(
                this,
                (DCTERMS.created, moment(now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))),
                (DCTERMS.creator, author.iri),
                (DCTERMS.license, licence),
            ),
            *statements_about(ox.NamedNode(str(author.iri)), (FOAF.name, ox.Literal(author.name))),
        ],
    }
    for name, quads in graphs.items():
        graph = ox.NamedNode(this.value + name)
        yield from (ox.Quad(q.subject, q.predicate, q.object, graph) for q in quads)
