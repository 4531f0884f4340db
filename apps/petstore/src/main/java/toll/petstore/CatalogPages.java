package toll.petstore;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.List;

/** What there is to buy: {@code /}, {@code /category/NAME}, {@code /product/ID}, {@code /item/ID}. */
final class CatalogPages extends Page {
    private static final long serialVersionUID = 1;
    private static final String HOME = "";

    private final transient Database database;

    CatalogPages(Database database) {
        this.database = database;
    }

    @Override
    boolean needsSignIn(Visit visit) {
        return !visit.request.getServletPath().equals(HOME);
    }

    @Override
    void get(Visit visit) throws IOException, SQLException {
        switch (visit.request.getServletPath()) {
            case HOME -> showHome(visit);
            case "/category" -> showCategory(visit, visit.pathName());
            case "/product" -> showProduct(visit, visit.pathNumber());
            default -> showItem(visit, visit.pathNumber());
        }
    }

    private static void showHome(Visit visit) throws IOException {
        StringBuilder body = new StringBuilder();
        if (!visit.field("signed-out").isEmpty()) {
            body.append("<p>Signed out.</p>\n");
        }
        body.append("<p><a href=\"/sign-in\">Sign in</a></p>\n<ul>\n");
        for (String category : Database.CATEGORIES) {
            body.append(link("/category/" + category, titled(category)));
        }
        visit.show("Pet Store", body.append("</ul>").toString());
    }

    private void showCategory(Visit visit, String category) throws IOException, SQLException {
        List<Database.Product> products = database.products(category);
        if (products.isEmpty()) {
            visit.fail(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        StringBuilder body = new StringBuilder("<ul>\n");
        for (Database.Product product : products) {
            body.append(link("/product/" + product.id(), product.name()));
        }
        visit.show(titled(category), body.append("</ul>").toString());
    }

    private void showProduct(Visit visit, int product) throws IOException, SQLException {
        List<Database.Item> items = database.items(product);
        if (items.isEmpty()) {
            visit.fail(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        StringBuilder body = new StringBuilder("<ul>\n");
        for (Database.Item item : items) {
            body.append(link("/item/" + item.id(), item.name()));
        }
        visit.show("Product " + product, body.append("</ul>").toString());
    }

    private void showItem(Visit visit, int number) throws IOException, SQLException {
        Database.Item item = database.item(number);
        if (item == null) {
            visit.fail(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        visit.show(
                item.name(),
                """
                <p>%s, %d in stock.</p>%s<input type="hidden" name="item" value="%d">
                <button>Add to cart</button></form>"""
                        .formatted(
                                Money.text(item.cents()),
                                item.stock(),
                                visit.form("/cart/add"),
                                item.id()));
    }

    private static String link(String path, String text) {
        return "<li><a href=\"%s\">%s</a></li>\n".formatted(path, text);
    }

    /** {@code Dogs} for {@code dogs}. */
    private static String titled(String category) {
        return Character.toUpperCase(category.charAt(0)) + category.substring(1);
    }
}
