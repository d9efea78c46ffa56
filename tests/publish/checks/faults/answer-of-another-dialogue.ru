# SPDX-License-Identifier: Apache-2.0
# constraint: answer-of-another-dialogue
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
# also: derived-before-generated
BASE <https://w3id.org/example/bench/>
PREFIX kgb:  <https://w3id.org/kgbench/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE { GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> prov:wasDerivedFrom ?answer } }
INSERT { GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> prov:wasDerivedFrom ?other } }
WHERE {
  GRAPH ?g { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> prov:wasDerivedFrom ?answer }
  GRAPH <graph/run/1> { ?other a kgb:Answer ; kgb:round 0 }
  FILTER (?other != ?answer)
}
