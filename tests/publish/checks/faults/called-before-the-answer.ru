# SPDX-License-Identifier: Apache-2.0
# constraint: derived-before-generated
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/call/0
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/call/0> prov:startedAtTime ?start } }
INSERT { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/call/0> prov:startedAtTime "2026-11-20T12:01:15Z"^^xsd:dateTime } }
WHERE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/call/0> prov:startedAtTime ?start } }
