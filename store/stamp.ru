# Raises the change stamp of a graph to $stamp, and never lowers it: repeated or late, it does no harm.
INSERT DATA { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> $stamp } } ;
DELETE { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> ?old } }
WHERE  { GRAPH <$catalogue> { <$graph> <https://w3id.org/kgbench/ns#changeStamp> ?old , ?later FILTER (?old < ?later) } }
