# Adds what was loaded into a graph beside the catalogue to the catalogue, in one step; repeated, it
# changes nothing.
INSERT { GRAPH <$catalogue> { ?s ?p ?o } } WHERE { GRAPH <$beside> { ?s ?p ?o } } ;
DROP SILENT GRAPH <$beside>
