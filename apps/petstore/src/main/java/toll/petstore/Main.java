package toll.petstore;

import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Starts the shop: database, pages, ports; then says on standard output where it listens. */
public final class Main {
    /** Kept, since the logging system forgets the level of a logger that nobody holds. */
    private static final Logger TOMCAT = Logger.getLogger("org.apache");

    private Main() {}

    public static void main(String[] words) throws Exception {
        Options options;
        try {
            options = Options.parse(words);
        } catch (IllegalArgumentException wrong) {
            System.err.println("petstore: " + wrong.getMessage());
            System.exit(2);
            return;
        }
        TOMCAT.setLevel(Level.WARNING);
        try {
            announce(Server.start(options, Database.create(options.database())));
        } catch (IOException | IllegalStateException refused) {
            System.err.println("petstore: " + refused.getMessage());
            System.exit(1);
        }
    }

    /** One line of JSON, as {@code toll serve --json} prints it. */
    private static void announce(Server server) {
        String tls = server.tls() == null ? "" : "\"tls\":\"%s\",".formatted(server.tls());
        System.out.printf(
                "{%s\"plain\":\"%s\",\"pid\":%d,\"tomcat\":\"%s\",\"java\":\"%s\"}%n",
                tls,
                server.plain(),
                ProcessHandle.current().pid(),
                Server.version(),
                System.getProperty("java.version"));
        System.out.flush();
    }
}
