# SPDX-License-Identifier: Apache-2.0
# constraint: score-of-no-judgement
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX outcome: <https://w3id.org/kgbench/outcome/>

DELETE { GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:outcome ?outcome } }
INSERT { GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:outcome outcome:evaluator-error } }
WHERE { GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> kgb:outcome ?outcome } }
