package toll.petstore;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.TreeMap;

/** Ordering: {@code /checkout}, {@code /payment}, {@code /confirm}, {@code /order/N}. */
final class OrderPages extends Page {
    private static final long serialVersionUID = 1;

    private final transient Database database;
    private final transient Orders orders;

    OrderPages(Database database, Orders orders) {
        this.database = database;
        this.orders = orders;
    }

    @Override
    void get(Visit visit) throws IOException, SQLException {
        switch (visit.request.getServletPath()) {
            case "/checkout" -> showCheckout(visit);
            case "/order" -> showOrder(visit, visit.pathNumber());
            default -> super.get(visit);
        }
    }

    @Override
    void post(Visit visit) throws IOException, SQLException {
        switch (visit.request.getServletPath()) {
            case "/payment" -> pay(visit);
            case "/confirm" -> confirm(visit);
            default -> super.post(visit);
        }
    }

    private void showCheckout(Visit visit) throws IOException, SQLException {
        visit.show(
                "Checkout",
                """
                <p>To %s. Items: %d</p>%s<input name="card"><input name="expires">
                <button>Pay</button></form>"""
                        .formatted(
                                database.address(visit.user().name()),
                                visit.user().cart().size(),
                                visit.form("/payment")));
    }

    private static void pay(Visit visit) throws IOException {
        String card = visit.field("card").replace(" ", "");
        String expires = visit.field("expires");
        if (!card.matches("\\d{12,19}") || !expires.matches("\\d\\d/\\d\\d(\\d\\d)?")) {
            visit.fail(HttpServletResponse.SC_BAD_REQUEST);
            return;
        }
        String last = card.substring(card.length() - 4);
        visit.user().pay(new User.Payment(last, expires));
        visit.show(
                "Confirm your order",
                """
                <p>Card ending in %s, expires %s.</p>%s<button>Confirm</button></form>"""
                        .formatted(last, expires, visit.form("/confirm")));
    }

    private void confirm(Visit visit) throws IOException, SQLException {
        User user = visit.user();
        if (user.payment() == null || user.cart().isEmpty()) {
            visit.go("/cart");
            return;
        }
        User.Payment payment = user.payment();
        int number =
                orders.place(
                        user.name(), new TreeMap<>(user.cart()), payment.card(), payment.expires());
        user.ordered();
        visit.go("/order/" + number);
    }

    private void showOrder(Visit visit, int number) throws IOException, SQLException {
        Orders.Order order = orders.find(number);
        if (order == null || !order.account().equals(visit.user().name())) {
            visit.fail(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        StringBuilder body = new StringBuilder("<p>Thank you. Order number " + number + "</p>\n<ul>\n");
        for (Orders.Line line : order.lines()) {
            body.append(
                    "<li>%d of %s: %s</li>\n"
                            .formatted(line.quantity(), line.item(), Money.text(line.cents())));
        }
        body.append("</ul><p>Total: ").append(Money.text(order.cents())).append("</p>\n");
        body.append(visit.form("/sign-out")).append("<button>Sign out</button></form>");
        visit.show("Order " + number, body.toString());
    }
}
