# SPDX-License-Identifier: Apache-2.0
# constraint: used-before-generated
# node: run/1/oracle/Spell-10/0-w1acf6cbe/0/call/0
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <graph/run/1> { <run/1/oracle/Spell-10/0-w1acf6cbe/0/call/0> prov:used <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/1/answer> } }
