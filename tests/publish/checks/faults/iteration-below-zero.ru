# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/Dialogue MinInclusive
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>

DELETE DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> kgb:iteration 0 } } ;
INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> kgb:iteration -1 } }
