# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/Text *
# node: *
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>

DELETE { GRAPH <graph/run/1> { ?text kgb:redacted ?digest } }
WHERE { GRAPH <graph/run/1> { <run/1/oracle/Spell-10/0-w1acf6cbe/0/prompt> kgb:text ?text . ?text kgb:redacted ?digest } }
