# SPDX-License-Identifier: Apache-2.0
# constraint: protected-prompt
# node: *
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX prov: <http://www.w3.org/ns/prov#>

INSERT { GRAPH ?g { ?text prov:value "What is the name of the dragon?" } }
WHERE {
  GRAPH ?g {
    ?prompt kgb:text ?text ;
      prov:wasDerivedFrom <https://w3id.org/kgbench/case/llm-kg-bench-3/Spell/case/wf9a663d71632> .
  }
}
