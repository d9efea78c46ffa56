# SPDX-License-Identifier: Apache-2.0
# constraint: undeclared-term
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>

INSERT DATA { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4> kgb:colour "green" } }
