# SPDX-License-Identifier: Apache-2.0
# constraint: ic-2
# node: analysis/1/table
BASE <https://w3id.org/example/bench/>
PREFIX qb: <http://purl.org/linked-data/cube#>

DELETE { GRAPH ?g { ?set qb:structure ?structure } }
WHERE { GRAPH ?g { ?set qb:structure ?structure } }
