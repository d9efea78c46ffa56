# Takes the lease of a store, unless another holds one that has not ended. $gone are the tokens whose holders
# are known to be gone.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
DELETE { GRAPH <$graph> { <$lease> kgb:leaseToken ?token ; kgb:leaseUntil ?until ; rdfs:label ?who } }
WHERE  { GRAPH <$graph> { <$lease> kgb:leaseToken ?token ; kgb:leaseUntil ?until ; rdfs:label ?who }
         FILTER (?until < $now || ?token IN ($gone)) } ;
INSERT { GRAPH <$graph> { <$lease> a kgb:WriterLease ; kgb:leaseToken $token ; kgb:leaseUntil $until ; rdfs:label $who } }
WHERE  { VALUES ?one { 1 }  # some servers take FILTER for true where it stands alone
         FILTER NOT EXISTS { GRAPH <$graph> { <$lease> kgb:leaseToken ?token } } }
