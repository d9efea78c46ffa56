# SPDX-License-Identifier: Apache-2.0
# constraint: shapes/Described MinCount
# node: pass/2
BASE <https://w3id.org/example/bench/>

DELETE WHERE { GRAPH ?g { <graph/pass/2> ?p ?o } }
