# SPDX-License-Identifier: Apache-2.0
# constraint: generated-by-no-activity
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> prov:wasGeneratedBy <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1> } }
INSERT { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> prov:wasGeneratedBy ?text } }
WHERE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> kgb:text ?text } }
