package toll.petstore;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line.
 *
 * @param database the folder for the database, which is made anew; on tmpfs, so that no disk is
 *     measured
 * @param https the port of TLS, 0 for any free one; null for none
 * @param plain the port of plain HTTP, 0 for any free one
 * @param certificate the certificate in PEM form, where there is TLS
 * @param key its private key, PKCS#8 in PEM form
 * @param root a folder whose files under {@code bytes/} are served too; null for none
 */
record Options(
        Path database,
        Integer https,
        int plain,
        Path certificate,
        Path key,
        Path root) {
    private static final String USAGE =
            "usage: petstore --database DIR [--plain PORT] [--https PORT --certificate PEM --key PEM]"
                    + " [--root DIR]";
    private static final List<String> FLAGS =
            List.of("database", "https", "plain", "certificate", "key", "root");

    /** Throws {@link IllegalArgumentException} with a line for the user. */
    static Options parse(String[] words) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < words.length; i += 2) {
            String name = words[i].startsWith("--") ? words[i].substring(2) : "";
            if (!FLAGS.contains(name) || i + 1 == words.length) {
                throw new IllegalArgumentException("`" + words[i] + "` is not understood; " + USAGE);
            }
            given.put(name, words[i + 1]);
        }
        if (!given.containsKey("database")) {
            throw new IllegalArgumentException("--database is missing; " + USAGE);
        }
        boolean hasIdentity = given.containsKey("certificate") && given.containsKey("key");
        if (given.containsKey("https") && !hasIdentity) {
            throw new IllegalArgumentException("--https needs --certificate and --key; " + USAGE);
        }
        return new Options(
                path(given, "database"),
                port(given, "https", null),
                port(given, "plain", 0),
                path(given, "certificate"),
                path(given, "key"),
                path(given, "root"));
    }

    private static Path path(Map<String, String> given, String name) {
        return given.containsKey(name) ? Path.of(given.get(name)).toAbsolutePath() : null;
    }

    private static Integer port(Map<String, String> given, String name, Integer otherwise) {
        String text = given.get(name);
        if (text == null) {
            return otherwise;
        }
        if (!text.matches("\\d{1,5}") || Integer.parseInt(text) > 65_535) {
            throw new IllegalArgumentException("--" + name + ": `" + text + "` is not a port");
        }
        return Integer.valueOf(text);
    }
}
