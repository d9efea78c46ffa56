# SPDX-License-Identifier: Apache-2.0
# constraint: digest-of-text
# node: run/1/text/911db8ab44488800b3c64467be45b7e71d43bcd8fa30869d35c7ae000758002e
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE { GRAPH ?g { ?text kgb:originalBytes ?bytes } }
INSERT { GRAPH ?g { ?text kgb:originalBytes "OmEgOmIg7aGA"^^xsd:base64Binary } }
WHERE { GRAPH ?g { ?text kgb:originalBytes ?bytes } }
