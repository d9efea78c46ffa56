# SPDX-License-Identifier: Apache-2.0
# Normalises Data Cubes before their integrity constraints are checked. Adds implied types, both
# steps of component properties, the range of qb:measureType, and the values that observations and
# slices inherit from their data set or slice.
PREFIX qb:   <http://purl.org/linked-data/cube#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

INSERT { ?observation a qb:Observation . } WHERE { ?slice qb:observation ?observation . } ;
INSERT { ?observation a qb:Observation . ?set a qb:DataSet . }
WHERE { ?observation qb:dataSet ?set . } ;
INSERT { ?slice a qb:Slice . } WHERE { ?set qb:slice ?slice . } ;
INSERT { ?component a qb:ComponentSpecification . } WHERE { ?structure qb:component ?component . } ;
INSERT { ?component qb:componentProperty ?property . ?property a qb:DimensionProperty . }
WHERE { ?component qb:dimension ?property . } ;
INSERT { ?component qb:componentProperty ?property . ?property a qb:MeasureProperty . }
WHERE { ?component qb:measure ?property . } ;
INSERT { ?component qb:componentProperty ?property . ?property a qb:AttributeProperty . }
WHERE { ?component qb:attribute ?property . } ;
INSERT { qb:measureType rdfs:range qb:MeasureProperty . }
WHERE { ?component qb:dimension qb:measureType . } ;

INSERT { ?observation ?property ?value . }
WHERE {
  ?component qb:componentAttachment qb:DataSet ;
    qb:componentProperty ?property .
  ?structure qb:component ?component .
  ?set qb:structure ?structure ;
    ?property ?value .
  ?observation qb:dataSet ?set .
} ;
INSERT { ?slice ?property ?value . }
WHERE {
  ?component qb:componentAttachment qb:Slice ;
    qb:componentProperty ?property .
  ?structure qb:component ?component .
  ?set qb:structure ?structure ;
    qb:slice ?slice ;
    ?property ?value .
} ;
INSERT { ?observation ?property ?value . }
WHERE {
  ?set qb:structure ?structure ;
    qb:slice ?slice .
  ?structure qb:component ?component .
  ?component qb:componentProperty ?property .
  { ?component qb:componentAttachment qb:Slice . } UNION { ?property a qb:DimensionProperty . }
  ?slice qb:observation ?observation ;
    ?property ?value .
}
