# Adds triples to a graph as they are, without a change stamp.
INSERT DATA { GRAPH <$graph> { $triples } }
