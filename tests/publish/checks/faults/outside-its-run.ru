# SPDX-License-Identifier: Apache-2.0
# constraint: outside-its-whole
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> prov:startedAtTime ?start } }
INSERT { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> prov:startedAtTime "2026-11-20T11:00:00Z"^^xsd:dateTime } }
WHERE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> prov:startedAtTime ?start } }
