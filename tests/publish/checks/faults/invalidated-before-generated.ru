# SPDX-License-Identifier: Apache-2.0
# constraint: invalidated-before-generated
# node: run/2/parrot-2-2026-01-01/Spell-10/0-w28c23b27/0/answer
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE WHERE { GRAPH <graph/invalidation/1> { <invalidation/1> prov:startedAtTime ?start ; prov:endedAtTime ?end } } ;
INSERT DATA { GRAPH <graph/invalidation/1> { <invalidation/1> prov:startedAtTime "2001-01-01T00:00:00Z"^^xsd:dateTime ; prov:endedAtTime "2001-01-01T00:00:00Z"^^xsd:dateTime } }
