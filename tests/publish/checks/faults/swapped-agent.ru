# SPDX-License-Identifier: Apache-2.0
# constraint: agent-and-activity
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1> prov:wasAssociatedWith <https://w3id.org/kgbench/model/Parrot-d808ae23> } } ;
INSERT DATA { GRAPH <graph/run/1> { <https://w3id.org/kgbench/model/Parrot-d808ae23> prov:wasAssociatedWith <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/1> } }
