// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.query.DatasetFactory;
import org.apache.jena.query.QueryExecution;
import org.apache.jena.query.QueryParseException;
import org.apache.jena.query.ResultSetFormatter;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFDataMgr;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.system.Txn;
import org.apache.jena.tdb2.DatabaseMgr;
import org.apache.jena.update.UpdateAction;

/**
 * Serves a database of Jena (TDB2) on loopback, at the addresses of Fuseki, which Debian does not package:
 * {@code java Serve.java FOLDER PORT}.
 *
 * <p>Below /dataset: query (POST of a form), update (POST), data?graph= (GET and POST of N-Triples).
 */
public class Serve {
    private interface Work {
        void run(HttpExchange exchange) throws Exception;
    }

    public static void main(String[] words) throws Exception {
        DatasetGraph data = DatabaseMgr.connectDatasetGraph(words[0]);
        InetSocketAddress place = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[1]));
        HttpServer server = HttpServer.create(place, 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        handle(server, "/dataset/query", exchange -> query(data, exchange));
        handle(server, "/dataset/update", exchange -> update(data, exchange));
        handle(server, "/dataset/data", exchange -> graph(data, exchange));
        server.start();
    }

    private static void query(DatasetGraph data, HttpExchange exchange) throws Exception {
        String text = fields(text(exchange)).get("query");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Txn.executeRead(data, () -> {
            try (QueryExecution asked = QueryExecution.dataset(DatasetFactory.wrap(data))
                    .query(text).build()) {
                if (asked.getQuery().isAskType()) {
                    ResultSetFormatter.outputAsJSON(out, asked.execAsk());
                } else {
                    ResultSetFormatter.outputAsJSON(out, asked.execSelect());
                }
            }
        });
        say(exchange, 200, "application/sparql-results+json", out.toByteArray());
    }

    private static void update(DatasetGraph data, HttpExchange exchange) throws Exception {
        String text = text(exchange);
        Txn.executeWrite(data, () -> UpdateAction.parseExecute(text, data));
        say(exchange, 204, null, new byte[0]);
    }

    private static void graph(DatasetGraph data, HttpExchange exchange) throws Exception {
        Node name = NodeFactory.createURI(fields(exchange.getRequestURI().getRawQuery()).get("graph"));
        if (exchange.getRequestMethod().equals("GET")) {
            exchange.getResponseHeaders().set("Content-Type", "application/n-triples");
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream out = exchange.getResponseBody()) {
                Txn.executeRead(data, () -> RDFDataMgr.write(out, data.getGraph(name), Lang.NTRIPLES));
            }
            return;
        }
        try (InputStream in = exchange.getRequestBody()) {
            Txn.executeWrite(data, () ->
                RDFParser.source(in).lang(Lang.NTRIPLES).parse(data.getGraph(name)));
        }
        say(exchange, 204, null, new byte[0]);
    }

    private static void handle(HttpServer server, String path, Work work) {
        server.createContext(path, exchange -> {
            try {
                work.run(exchange);
            } catch (QueryParseException error) {
                say(exchange, 400, "text/plain", error.getMessage().getBytes(StandardCharsets.UTF_8));
            } catch (Exception error) {
                say(exchange, 500, "text/plain", error.toString().getBytes(StandardCharsets.UTF_8));
            } finally {
                exchange.close();
            }
        });
    }

    private static String text(HttpExchange exchange) throws IOException {
        return new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static Map<String, String> fields(String form) {
        Map<String, String> found = new HashMap<>();
        for (String pair : form.split("&")) {
            int middle = pair.indexOf('=');
            found.put(pair.substring(0, middle), URLDecoder.decode(pair.substring(middle + 1), StandardCharsets.UTF_8));
        }
        return found;
    }

    private static void say(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        if (type != null) {
            exchange.getResponseHeaders().set("Content-Type", type);
        }
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
    }
}
