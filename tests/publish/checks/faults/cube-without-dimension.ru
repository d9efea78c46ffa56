# SPDX-License-Identifier: Apache-2.0
# constraint: ic-11
# node: *
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX qb: <http://purl.org/linked-data/cube#>

DELETE { GRAPH ?g { ?o kgb:model ?model } }
WHERE { GRAPH ?g { ?o a qb:Observation ; kgb:model ?model ; kgb:mean ?mean } }
