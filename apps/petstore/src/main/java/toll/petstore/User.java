package toll.petstore;

import jakarta.servlet.http.HttpSession;
import java.math.BigInteger;
import java.security.SecureRandom;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/** What a session holds: who is signed in, the cart, the payment, and the token of all its forms. */
final class User {
    private static final String ATTRIBUTE = "user";
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int TOKEN_BITS = 128;

    /** A form that changes something must bring it back. */
    final String token = new BigInteger(TOKEN_BITS, RANDOM).toString(16);

    private String name;
    private Payment payment;
    private final SortedMap<Integer, Integer> cart =
            Collections.synchronizedSortedMap(new TreeMap<>());

    /** The last digits of the card, and the month until which it is good. */
    record Payment(String card, String expires) {}

    /** Of this session; null where it has none, or there is no session. */
    static User of(HttpSession session) {
        return session == null ? null : (User) session.getAttribute(ATTRIBUTE);
    }

    /** Of a session that has none yet. */
    static User begin(HttpSession session) {
        User user = new User();
        session.setAttribute(ATTRIBUTE, user);
        return user;
    }

    /** The account's name; null before the sign-in. */
    String name() {
        return name;
    }

    void signIn(String account) {
        name = account;
    }

    /** Quantities by item. */
    SortedMap<Integer, Integer> cart() {
        return cart;
    }

    /** Null before the payment. */
    Payment payment() {
        return payment;
    }

    void pay(Payment with) {
        payment = with;
    }

    /** The order is placed: the next one begins. */
    void ordered() {
        cart.clear();
        payment = null;
    }
}
