package toll.petstore;

/** Prices, which are cents everywhere but on pages. */
final class Money {
    private Money() {}

    /** {@code $12.05} for 1205. */
    static String text(int cents) {
        return "$%d.%02d".formatted(cents / 100, cents % 100);
    }
}
