# SPDX-License-Identifier: Apache-2.0
# constraint: foreign-metric
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>

INSERT DATA { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> <https://w3id.org/kgbench/metric/Mend/2.0/cost> 1.0e0 } }
