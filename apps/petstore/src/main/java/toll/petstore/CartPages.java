package toll.petstore;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** The cart: {@code /cart}, {@code /cart/add}, {@code /cart/update}. */
final class CartPages extends Page {
    private static final long serialVersionUID = 1;
    private static final int MOST = 99;

    private final transient Database database;

    CartPages(Database database) {
        this.database = database;
    }

    @Override
    void get(Visit visit) throws IOException, SQLException {
        StringBuilder body = new StringBuilder();
        for (Map.Entry<Integer, Integer> line : visit.user().cart().entrySet()) {
            Database.Item item = database.item(line.getKey());
            body.append(
                    """
                    <p>%s, %s each. Quantity: %d</p>%s<input type="hidden" name="item" value="%d">
                    <input name="quantity" value="%d"><button>Update</button></form>
                    """
                            .formatted(
                                    item.name(),
                                    Money.text(item.cents()),
                                    line.getValue(),
                                    visit.form("/cart/update"),
                                    item.id(),
                                    line.getValue()));
        }
        body.append("<p><a href=\"/checkout\">To the checkout</a></p>");
        visit.show("Shopping cart", body.toString());
    }

    @Override
    void post(Visit visit) throws IOException, SQLException {
        int item = visit.number("item");
        switch (visit.request.getServletPath()) {
            case "/cart/add" -> {
                if (database.item(item) == null) {
                    visit.fail(HttpServletResponse.SC_BAD_REQUEST);
                    return;
                }
                visit.user().cart().merge(item, 1, (has, one) -> Math.min(MOST, has + one));
            }
            case "/cart/update" -> {
                int quantity = visit.number("quantity");
                if (quantity < 0 || quantity > MOST) {
                    visit.fail(HttpServletResponse.SC_BAD_REQUEST);
                    return;
                }
                visit.user().cart().computeIfPresent(item, (i, has) -> quantity == 0 ? null : quantity);
            }
            default -> {
                super.post(visit);
                return;
            }
        }
        visit.go("/cart");
    }
}
