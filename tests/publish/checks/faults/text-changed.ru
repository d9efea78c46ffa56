# SPDX-License-Identifier: Apache-2.0
# constraint: digest-of-text
# node: run/1/text/920f87a30094338d18692f91dc5c73f0805f113b2e93d4409868db083c248103
BASE <https://w3id.org/example/bench/>
PREFIX prov: <http://www.w3.org/ns/prov#>

DELETE { GRAPH ?g { ?text prov:value "a-n-n-e" } }
INSERT { GRAPH ?g { ?text prov:value "a-n-n-a" } }
WHERE { GRAPH ?g { ?text prov:value "a-n-n-e" } }
