# SPDX-License-Identifier: Apache-2.0
# constraint: generated-twice
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/answer> prov:wasGeneratedBy <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/call/0> } }
