# SPDX-License-Identifier: Apache-2.0
# constraint: private
# node: https://w3id.org/kgbench/model/Parrot-d808ae23
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>

INSERT { GRAPH ?g { <https://w3id.org/kgbench/model/Parrot-d808ae23> kgb:baseUrl "http://10.0.0.7:8000/v1" } }
WHERE { GRAPH ?g { <https://w3id.org/kgbench/model/Parrot-d808ae23> a kgb:Model } }
