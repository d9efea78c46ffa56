# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/Evaluation Equals
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>

DELETE DATA { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:suite <https://w3id.org/kgbench/suite/kgbench-1> } } ;
INSERT DATA { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:suite <https://w3id.org/kgbench/suite/llm-kg-bench-3> } }
