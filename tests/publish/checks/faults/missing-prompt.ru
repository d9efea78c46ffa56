# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/ModelCall MinCount
# node: run/1/oracle/Spell-10/0-w1acf6cbe/0/call/0
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE DATA { GRAPH <graph/run/1> { <run/1/oracle/Spell-10/0-w1acf6cbe/0/call/0> prov:used <run/1/oracle/Spell-10/0-w1acf6cbe/0/prompt> } }
