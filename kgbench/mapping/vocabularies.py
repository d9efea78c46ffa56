# SPDX-License-Identifier: Apache-2.0
"""Common names for the vocabularies of mappings: RML core, the older RML, and R2RML.

The common names are those of RML core, which covers the other vocabularies, with ``tableName`` and
``sqlQuery`` of R2RML in addition.
"""

from __future__ import annotations

from typing import Final

from kgbench.mapping.limits import MappingError
from kgbench.vocab import Namespace

RML: Final = Namespace("http://w3id.org/rml/")
OLD_RML: Final = Namespace("http://semweb.mmlab.be/ns/rml#")
R2RML: Final = Namespace("http://www.w3.org/ns/r2rml#")
OLD_QL: Final = Namespace("http://semweb.mmlab.be/ns/ql#")

_SHARED: Final = """
    subjectMap subject predicateObjectMap predicateMap predicate objectMap object graphMap graph
    class template constant termType datatype language parentTriplesMap joinCondition child parent
"""
_NAMES: Final = {
    RML: f"""{_SHARED} logicalSource source path root iterator referenceFormulation null reference
        datatypeMap languageMap childMap parentMap baseIRI query encoding compression""",
    OLD_RML: "logicalSource source iterator referenceFormulation reference query languageMap",
    R2RML: f"{_SHARED} logicalTable tableName sqlQuery sqlVersion column inverseExpression",
}
_RENAMED: Final = {"logicalTable": "logicalSource", "column": "reference", "query": "sqlQuery"}
_IGNORED: Final = frozenset({"sqlVersion", "inverseExpression"})
_KNOWN: Final = {
    f"{namespace}{name}": _RENAMED.get(name, name)
    for namespace, names in _NAMES.items()
    for name in names.split()
}
_FORMULATIONS: Final = {
    "CSV": "csv",
    "JSONPath": "json",
    "XPath": "xml",
    "SQL2008Table": "table",
    "SQL2008Query": "query",
    "SQL2008": "sql",
}
FORMULATION_OF: Final = {kind: name for name, kind in _FORMULATIONS.items()}
"""The local name of the reference formulation for each kind of source."""
_TERM_TYPES: Final = {
    name: name for name in ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode", "Literal")
}


def name_of(predicate: str) -> str | None:
    """Return the common name of a property; ``None`` if it is irrelevant to mappings.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the property is in one of the
    vocabularies but not supported.
    """
    known = _KNOWN.get(predicate)
    if known is not None:
        return None if known in _IGNORED else known
    if predicate.startswith((str(RML), str(OLD_RML), str(R2RML))):
        raise MappingError(f"<{predicate}> is no property of mappings that is supported here")
    return None


def formulation_of(iri: str) -> str:
    """Return the kind of source of a reference formulation, such as ``csv`` or ``table``.

    Raises :class:`~kgbench.mapping.limits.MappingError` if it is not supported.
    """
    return _local_name(iri, _FORMULATIONS, "reference formulation")


def term_type_of(iri: str) -> str:
    """Return the local name of a term type.

    Raises :class:`~kgbench.mapping.limits.MappingError` if it is not supported.
    """
    return _local_name(iri, _TERM_TYPES, "term type")


def is_default_graph(iri: str) -> bool:
    """Return whether an IRI stands for the default graph."""
    return iri in {f"{RML}defaultGraph", f"{R2RML}defaultGraph"}


def is_triples_map_class(iri: str) -> bool:
    """Return whether an IRI is the class of triples maps."""
    return iri in {f"{RML}TriplesMap", f"{R2RML}TriplesMap"}


def _local_name(iri: str, known: dict[str, str], kind: str) -> str:
    for namespace in (RML, OLD_QL, OLD_RML, R2RML):
        name = iri.removeprefix(str(namespace))
        if name != iri and name in known:
            return known[name]
    raise MappingError(f"<{iri}> is no {kind} that is supported here")
