# SPDX-License-Identifier: Apache-2.0
# constraint: ic-12
# node: *
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX qb: <http://purl.org/linked-data/cube#>

INSERT { GRAPH ?g { <analysis/1/table/copy> ?p ?v } }
WHERE { GRAPH ?g { ?o a qb:Observation ; kgb:mean ?mean ; ?p ?v } }
