# SPDX-License-Identifier: Apache-2.0
# constraint: metric/Spell/1.0/f1#shape MaxInclusive
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>

DELETE { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> <https://w3id.org/kgbench/metric/Spell/1.0/f1> ?old } }
INSERT { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> <https://w3id.org/kgbench/metric/Spell/1.0/f1> 1.5e0 } }
WHERE { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> <https://w3id.org/kgbench/metric/Spell/1.0/f1> ?old } }
