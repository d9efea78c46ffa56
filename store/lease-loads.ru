# Notes in a lease that its holder loads a graph, which its successor may remove; repeated, it
# changes nothing.
INSERT DATA { GRAPH <$graph> { <$lease> <http://www.w3.org/ns/prov#generated> <$loaded> } }
