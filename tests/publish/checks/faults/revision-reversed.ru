# SPDX-License-Identifier: Apache-2.0
# constraint: revises-no-earlier
# node: pass/1/oracle/Spell-10/0-w1acf6cbe/0
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE { GRAPH ?g { ?later prov:wasRevisionOf <pass/1/oracle/Spell-10/0-w1acf6cbe/0> } }
INSERT { GRAPH <graph/pass/1> { <pass/1/oracle/Spell-10/0-w1acf6cbe/0> prov:wasRevisionOf ?later } }
WHERE { GRAPH ?g { ?later prov:wasRevisionOf <pass/1/oracle/Spell-10/0-w1acf6cbe/0> } }
