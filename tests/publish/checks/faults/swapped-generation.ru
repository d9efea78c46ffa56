# SPDX-License-Identifier: Apache-2.0
# constraint: entity-and-activity
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> prov:wasGeneratedBy <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1> } } ;
INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1> prov:wasGeneratedBy <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> } }
