# SPDX-License-Identifier: Apache-2.0
# constraint: secret
# node: run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/0
BASE <https://w3id.org/example/bench/>
PREFIX schema: <https://schema.org/>

DELETE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/0> schema:error ?error } }
INSERT { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/0> schema:error "401: no such key sk-proj-abcdefghijklmnopqrstuvwx" } }
WHERE { GRAPH <graph/run/1> { <run/1/Parrot-d808ae23/Mend-turtle/0-wde6e31d4/0/call/0> schema:error ?error } }
