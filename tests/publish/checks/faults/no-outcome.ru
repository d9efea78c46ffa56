# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/Evaluation MinCount
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX outcome: <https://w3id.org/kgbench/outcome/>

DELETE DATA { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:outcome outcome:scored } }
