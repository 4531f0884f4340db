package toll.petstore;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;

/**
 * A page of the shop, or several that belong together. Only signed-in users see it unless it says
 * otherwise; others are sent to the sign-in. A form without the session's token is refused.
 */
abstract class Page extends HttpServlet {
    private static final long serialVersionUID = 1;

    /** Answers a GET. */
    void get(Visit visit) throws IOException, SQLException {
        visit.fail(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
    }

    /** Answers a form with a right token. */
    void post(Visit visit) throws IOException, SQLException {
        visit.fail(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
    }

    /** Whether this visit needs a user who has signed in. */
    boolean needsSignIn(Visit visit) {
        return true;
    }

    @Override
    protected final void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        answer(request, response, this::get);
    }

    @Override
    protected final void doPost(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        answer(
                request,
                response,
                visit -> {
                    if (visit.user() == null) {
                        visit.go("/sign-in");
                    } else if (!visit.hasToken()) {
                        visit.fail(HttpServletResponse.SC_FORBIDDEN);
                    } else {
                        post(visit);
                    }
                });
    }

    private interface Answer {
        void to(Visit visit) throws IOException, SQLException;
    }

    private void answer(HttpServletRequest request, HttpServletResponse response, Answer answer)
            throws ServletException, IOException {
        Visit visit;
        try {
            visit = new Visit(request, response);
        } catch (NumberFormatException wrong) {
            response.sendError(HttpServletResponse.SC_BAD_REQUEST);
            return;
        }
        if (needsSignIn(visit) && !visit.isSignedIn()) {
            visit.go("/sign-in");
            return;
        }
        try {
            answer.to(visit);
        } catch (SQLException failed) {
            throw new ServletException(failed);
        }
    }
}
