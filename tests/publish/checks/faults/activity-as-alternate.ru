# SPDX-License-Identifier: Apache-2.0
# constraint: entity-and-activity
# node: run/1
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT DATA { GRAPH <graph/run/1> { <run/1> prov:alternateOf <https://w3id.org/kgbench/run/1> } }
