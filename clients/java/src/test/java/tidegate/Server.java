package tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The real server of one test class, or one that already runs and that TIDEGATE_ENDPOINT names. */
final class Server implements AutoCloseable {

    private static final Pattern ENDPOINT_LINE = Pattern.compile("endpoint\\s+(http://\\S+)");
    private static final int START_TIMEOUT_S = 30;
    private static final int STOP_TIMEOUT_S = 30;

    final URI endpoint;
    private final Process process;
    private final Path dataDir;

    private Server(URI endpoint, Process process, Path dataDir) {
        this.endpoint = endpoint;
        this.process = process;
        this.dataDir = dataDir;
    }

    static Server start() throws Exception {
        String running = System.getenv("TIDEGATE_ENDPOINT");
        if (running != null) {
            return new Server(URI.create(running.replaceAll("/$", "")), null, null);
        }
        String binary = Optional.ofNullable(System.getenv("TIDEGATE_BIN")).orElse("../../target/release/tidegate");
        Path dataDir = Files.createTempDirectory("tidegate-suite-");
        ProcessBuilder command = new ProcessBuilder(
                        binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                        "--data-dir", dataDir.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        // The server takes settings from TIDEGATE_* variables and refuses those it does not know.
        command.environment().keySet().removeIf(name -> name.startsWith("TIDEGATE_"));
        Process process = command.start();
        try {
            URI endpoint = announcedEndpoint(process);
            waitUntilHealthy(endpoint);
            return new Server(endpoint, process, dataDir);
        } catch (Exception error) {
            process.destroyForcibly();
            deleteTree(dataDir);
            throw error;
        }
    }

    private static URI announcedEndpoint(Process process) throws Exception {
        CompletableFuture<URI> found = new CompletableFuture<>();
        // Reads to the end, so that a full pipe never blocks the server.
        Thread reader = new Thread(() -> {
            try (var lines = new BufferedReader(
                    new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    Matcher match = ENDPOINT_LINE.matcher(line);
                    if (match.find()) {
                        found.complete(URI.create(match.group(1).replaceAll("/$", "")));
                    }
                }
            } catch (IOException closed) {
                // The server is gone; its exit code says how.
            }
            found.completeExceptionally(new IllegalStateException("the server announced no endpoint"));
        });
        reader.setDaemon(true);
        reader.start();
        return found.get(START_TIMEOUT_S, TimeUnit.SECONDS);
    }

    private static void waitUntilHealthy(URI endpoint) throws InterruptedException {
        HttpClient http = HttpClient.newHttpClient();
        HttpRequest health = HttpRequest.newBuilder(URI.create(endpoint + "/health")).build();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_TIMEOUT_S);
        while (System.nanoTime() < deadline) {
            try {
                if (http.send(health, HttpResponse.BodyHandlers.discarding()).statusCode() == 200) {
                    return;
                }
            } catch (IOException notYet) {
                // Not listening yet.
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException(health.uri() + " did not answer 200");
    }

    /** A server that this class started must stop cleanly. */
    @Override
    public void close() throws Exception {
        if (process == null) {
            return;
        }
        try {
            process.destroy();
            boolean stopped = process.waitFor(STOP_TIMEOUT_S, TimeUnit.SECONDS);
            assertEquals(true, stopped, "the server stops after SIGTERM");
            assertEquals(0, process.exitValue(), "exit code after SIGTERM");
        } finally {
            process.destroyForcibly();
            deleteTree(dataDir);
        }
    }

    private static void deleteTree(Path root) throws IOException {
        try (var paths = Files.walk(root)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> {
                try {
                    Files.deleteIfExists(path);
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            });
        }
    }
}
