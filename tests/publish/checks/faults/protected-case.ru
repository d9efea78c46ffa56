# SPDX-License-Identifier: Apache-2.0
# constraint: protected-case
# node: https://w3id.org/kgbench/case/llm-kg-bench-3/Spell/case/wf9a663d71632
BASE <https://w3id.org/example/bench/>
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

DELETE { GRAPH ?g { ?case kgb:caseData ?data } }
INSERT { GRAPH ?g { ?case kgb:caseData "{\"word\":\"bob\"}"^^rdf:JSON } }
WHERE {
  GRAPH ?g { ?case kgb:caseData ?data }
  FILTER (?case = <https://w3id.org/kgbench/case/llm-kg-bench-3/Spell/case/wf9a663d71632>)
}
