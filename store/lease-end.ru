# Gives the lease of a store back; does nothing where it is another's.
PREFIX kgb: <https://w3id.org/kgbench/ns#>
DELETE { GRAPH <$graph> { <$lease> ?p ?o } }
WHERE  { GRAPH <$graph> { <$lease> kgb:leaseToken $token ; ?p ?o } }
