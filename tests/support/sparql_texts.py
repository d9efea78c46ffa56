# SPDX-License-Identifier: Apache-2.0
"""SPARQL texts that query other endpoints, and fragments for random texts."""

#: A port for which Oxigraph refuses a SERVICE call before it opens a connection.
NOWHERE = "<http://127.0.0.1:9/>"

ASKING = {
    "plain": "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }",
    "silent": "SELECT * { SERVICE SILENT <http://e/> { ?s ?p ?o } }",
    "case": "select * { sErViCe <http://e/> { ?s ?p ?o } }",
    "comment": "SELECT * { SERVICE # far away\n SILENT <http://e/> { ?s ?p ?o } }",
    "comment without blank": "SELECT * {SERVICE#\nSILENT#\n<http://e/>{?s ?p ?o}}",
    "variable": "SELECT * { SERVICE?x{ ?s ?p ?o } }",
    "prefixed": "PREFIX e: <http://e/> SELECT * { SERVICE e:x { ?s ?p ?o } }",
    "glued name": "SELECT * { SERVICEe:x { ?s ?p ?o } }",
    "glued empty prefix": "SELECT * { SERVICE:x{ ?s ?p ?o } }",
    "glued silent": "SELECT * { SERVICESILENTe:x # \n{ ?s ?p ?o } }",
    "after true": "SELECT * { ?s ?p trueSERVICE <http://e/> {} }",
    "after a number": "SELECT * { ?s ?p 1SERVICE <http://e/> {} }",
    "after an exponent": "SELECT * { ?s ?p 1eSERVICE <http://e/> {} }",
    "after a string": "SELECT * { ?s ?p 'x'SERVICE <http://e/> {} }",
    "in a filter": "SELECT * { FILTER EXISTS { SERVICE <http://e/> {} } }",
    "in a sub-select": "SELECT * { { SELECT * { SERVICE <http://e/> {} } } }",
    "less than begins an IRI": "SELECT * { FILTER(?a<?b#>'''\n) SERVICE <http://e/> {} }#'''",
    "less than begins a string": "SELECT * { FILTER(1<'>'&&?x!='\"\"\"')SERVICE <http://e/> {} }",
    "escaped letter": "SELECT * { \\u0053ERVICE <http://e/> {} }",
    "escaped line break": "SELECT * { # \\u000a SERVICE <http://e/> {}\n }",
    "CR in a comment": "SELECT * { # \r '''\n SERVICE <http://e/> {} # \r '''\n }",
    "unfinished string": "SELECT * { ' \n SERVICE <http://e/> {} }",
}

PIECES = (
    *("SERVICE", "service", "SILENT", NOWHERE, "{", "}", "(", ")", "\n", " ", "#", "<", ">", "'"),
    *('"', "'''", '"""', "?a", "1", "true", "FILTER(", "BIND(1 AS ?z)", "e:x", ":", "\\", "\r"),
    *("?a<?b#>", "<'>", "&&", "GRAPH", "VALUES ?v {", "?s ?p ?o", ".", "OPTIONAL {", "<<", ">>"),
    *("SELECT * {", "SERVICEe:x{}", "trueSERVICE", f"SERVICE{NOWHERE}{{}}", "#>\n", "\\u0053"),
)
