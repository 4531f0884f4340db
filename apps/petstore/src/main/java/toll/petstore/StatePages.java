package toll.petstore;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.sql.SQLException;

/** What a measurement asks of the shop, on its plain port only: {@code /orders}, {@code /crypto}. */
final class StatePages extends HttpServlet {
    private static final long serialVersionUID = 1;

    private final transient Orders orders;

    StatePages(Orders orders) {
        this.orders = orders;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        if (request.isSecure()) {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        try {
            boolean isOrders = request.getServletPath().equals("/orders");
            response.setContentType(isOrders ? "text/plain" : "application/json");
            String answer = isOrders ? String.valueOf(orders.count()) : Crypto.json();
            response.getWriter().println(answer);
        } catch (SQLException | GeneralSecurityException failed) {
            throw new ServletException(failed);
        }
    }
}
