// SPDX-License-Identifier: Apache-2.0
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.jena.query.Dataset;
import org.apache.jena.query.QueryExecution;
import org.apache.jena.query.ReadWrite;
import org.apache.jena.query.ResultSetFormatter;
import org.apache.jena.riot.RDFDataMgr;
import org.apache.jena.tdb2.TDB2Factory;

/**
 * Asks Jena (TDB2) every query of a folder: {@code java Ask.java DUMP QUERIES ANSWERS SECONDS}.
 *
 * <p>Loads DUMP into a database below ANSWERS, writes the rows of QUERIES/NAME.rq to ANSWERS/NAME.json,
 * and prints a line for the loading and one for each query: its name, its seconds, and what went wrong.
 */
public class Ask {
    public static void main(String[] words) throws Exception {
        Path answers = Path.of(words[2]);
        Dataset dataset = TDB2Factory.connectDataset(answers.resolve("tdb2").toString());
        long begin = System.nanoTime();
        dataset.begin(ReadWrite.WRITE);
        RDFDataMgr.read(dataset, words[0]);
        dataset.commit();
        dataset.end();
        tell("", begin, "");
        dataset.begin(ReadWrite.READ);
        for (Path file : queries(Path.of(words[1]))) {
            String name = file.getFileName().toString().replace(".rq", "");
            begin = System.nanoTime();
            try (QueryExecution asked = QueryExecution.dataset(dataset).query(Files.readString(file))
                         .timeout(Long.parseLong(words[3]), TimeUnit.SECONDS).build();
                    OutputStream out = Files.newOutputStream(answers.resolve(name + ".json"))) {
                ResultSetFormatter.outputAsJSON(out, asked.execSelect());
                tell(name, begin, "");
            } catch (RuntimeException error) {
                tell(name, begin, String.valueOf(error));
            }
        }
        dataset.end();
    }

    private static List<Path> queries(Path folder) throws Exception {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.rq")) {
            files.forEach(found::add);
        }
        Collections.sort(found);
        return found;
    }

    private static void tell(String name, long begin, String error) {
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.println(name + "\t" + seconds + "\t" + error.replaceAll("\\s+", " "));
    }
}
