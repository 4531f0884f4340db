package toll.petstore;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * The text that makes a page as long as it is asked to be: words in a random order that is the same
 * at each start. It compresses as prose does, to about a third, not to nothing.
 */
final class Filler {
    private static final int LENGTH = 1 << 20;
    private static final int SEED = 13;
    private static final byte[] TEXT = text();

    private Filler() {}

    /** Writes this many bytes of it, from a place in it that depends on the page. */
    static void write(OutputStream out, int bytes, String page) throws IOException {
        int start = Math.floorMod(page.hashCode(), LENGTH);
        while (bytes > 0) {
            int part = Math.min(bytes, LENGTH - start);
            out.write(TEXT, start, part);
            bytes -= part;
            start = 0;
        }
    }

    private static byte[] text() {
        Random random = new Random(SEED);
        StringBuilder text = new StringBuilder(LENGTH);
        while (text.length() < LENGTH) {
            for (int letters = 2 + random.nextInt(8); letters > 0; letters--) {
                text.append((char) ('a' + random.nextInt(26)));
            }
            text.append(random.nextInt(12) == 0 ? '\n' : ' ');
        }
        text.setLength(LENGTH);
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }
}
