# SPDX-License-Identifier: Apache-2.0
# constraint: private
# node: run/1
BASE <https://w3id.org/example/bench/>

DELETE { GRAPH <graph/run/1> { <run/1> <http://www.w3.org/2000/01/rdf-schema#label> ?label } }
INSERT { GRAPH <graph/run/1> { <run/1> <http://www.w3.org/2000/01/rdf-schema#label> "/home/ann/dragons.yaml" } }
WHERE { GRAPH <graph/run/1> { <run/1> <http://www.w3.org/2000/01/rdf-schema#label> ?label } }
