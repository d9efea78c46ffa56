# SPDX-License-Identifier: Apache-2.0
# constraint: end-before-start
# node: run/1/session/0
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE { GRAPH <graph/run/1> { <run/1/session/0> prov:endedAtTime ?end } }
INSERT { GRAPH <graph/run/1> { <run/1/session/0> prov:endedAtTime "2026-11-20T11:59:59Z"^^xsd:dateTime } }
WHERE { GRAPH <graph/run/1> { <run/1/session/0> prov:endedAtTime ?end } }
