# Raises the change stamp of a graph to $stamp, and never lowers it: repeated or late, it does no harm.
DELETE { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> ?old } }
WHERE  { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> ?old } FILTER (?old < $stamp) } ;
INSERT { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> $stamp } }
WHERE  { VALUES ?one { 1 }  # some servers take FILTER for true where it stands alone
         FILTER NOT EXISTS { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> ?later FILTER (?later >= $stamp) } } }
