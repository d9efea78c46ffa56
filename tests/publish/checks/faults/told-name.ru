# SPDX-License-Identifier: Apache-2.0
# constraint: private
# node: run/2
BASE <https://w3id.org/example/bench/>

DELETE { GRAPH ?g { <run/2> <http://www.w3.org/2000/01/rdf-schema#label> ?label } }
INSERT { GRAPH ?g { <run/2> <http://www.w3.org/2000/01/rdf-schema#label> "asked on dragonhost" } }
WHERE { GRAPH ?g { <run/2> <http://www.w3.org/2000/01/rdf-schema#label> ?label } }
