# SPDX-License-Identifier: Apache-2.0
# constraint: ic-15
# node: *
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX qb: <http://purl.org/linked-data/cube#>

DELETE { GRAPH ?g { ?o kgb:mean ?mean } }
WHERE { GRAPH ?g { ?o a qb:Observation ; kgb:mean ?mean } }
