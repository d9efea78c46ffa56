# SPDX-License-Identifier: Apache-2.0
# constraint: generated-twice
# node: run/1/Parrot-b82d84a6/Mend-turtle/0-d2d2d2d2/0/answer
# also: shapes/*; derived-before-generated
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-b82d84a6/Mend-turtle/0-d2d2d2d2/0/answer> prov:wasGeneratedBy <run/1/Parrot-b82d84a6/Mend-turtle/0-d2d2d2d2/1/call/0> } }
