// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import org.semanticweb.HermiT.Configuration;
import org.semanticweb.HermiT.Reasoner;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.OWLClass;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.profiles.OWL2DLProfile;
import org.semanticweb.owlapi.profiles.OWLProfileViolation;

/**
 * Prints what is outside of OWL 2 DL in an ontology by OWL API, and what HermiT finds contradictory:
 * {@code java Owl.java FILE}. Each line has a kind (axioms, profile, inconsistent, unsatisfiable), a tab
 * and a name.
 */
public class Owl {
    public static void main(String[] words) throws Exception {
        OWLOntology ontology =
                OWLManager.createOWLOntologyManager().loadOntologyFromOntologyDocument(new File(words[0]));
        System.out.println("axioms\t" + ontology.getAxiomCount());
        for (OWLProfileViolation found : new OWL2DLProfile().checkOntology(ontology).getViolations()) {
            System.out.println("profile\t" + found.getClass().getSimpleName());
        }
        Configuration settings = new Configuration();
        settings.ignoreUnsupportedDatatypes = true; // rdf:JSON and rdf:langString came after OWL 2
        Reasoner reasoner = new Reasoner(settings, ontology);
        if (!reasoner.isConsistent()) {
            System.out.println("inconsistent\tontology");
            return;
        }
        for (OWLClass found : reasoner.getUnsatisfiableClasses().getEntitiesMinusBottom()) {
            System.out.println("unsatisfiable\t" + found.getIRI());
        }
    }
}
