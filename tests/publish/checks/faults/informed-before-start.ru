# SPDX-License-Identifier: Apache-2.0
# constraint: informed-before-start
# node: run/2
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <graph/run/2> { <run/2> prov:wasInformedBy <pass/2> } }
