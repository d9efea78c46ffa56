# SPDX-License-Identifier: Apache-2.0
# constraint: derivation-cycle
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/answer
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/prompt> prov:wasDerivedFrom <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> } } ;
INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/prompt> prov:wasDerivedFrom <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/answer> } }
