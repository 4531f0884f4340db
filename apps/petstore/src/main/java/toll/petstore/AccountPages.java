package toll.petstore;

import java.io.IOException;
import java.sql.SQLException;

/** Signing in and out: {@code /sign-in}, {@code /account}, {@code /sign-out}. */
final class AccountPages extends Page {
    private static final long serialVersionUID = 1;
    private static final String SIGN_IN = "/sign-in";

    private final transient Database database;

    AccountPages(Database database) {
        this.database = database;
    }

    @Override
    boolean needsSignIn(Visit visit) {
        return !visit.request.getServletPath().equals(SIGN_IN);
    }

    @Override
    void get(Visit visit) throws IOException, SQLException {
        switch (visit.request.getServletPath()) {
            case SIGN_IN -> showSignIn(visit, "");
            case "/account" -> showAccount(visit);
            default -> super.get(visit);
        }
    }

    @Override
    void post(Visit visit) throws IOException, SQLException {
        switch (visit.request.getServletPath()) {
            case SIGN_IN -> signIn(visit);
            case "/sign-out" -> {
                visit.endSession();
                visit.go("/?signed-out=1");
            }
            default -> super.post(visit);
        }
    }

    private static void showSignIn(Visit visit, String complaint) throws IOException {
        visit.beginSession();
        visit.show(
                "Sign in",
                complaint
                        + visit.form(SIGN_IN)
                        + """
                        <input name="name"><input name="password" type="password">
                        <button>Sign in</button></form>""");
    }

    private void signIn(Visit visit) throws IOException, SQLException {
        String name = visit.field("name");
        if (!database.isPassword(name, visit.field("password"))) {
            showSignIn(visit, "<p>No account has this name and password.</p>");
            return;
        }
        visit.renewSession();
        visit.user().signIn(name);
        visit.go("/account");
    }

    private void showAccount(Visit visit) throws IOException, SQLException {
        String name = visit.user().name();
        visit.show(
                "Your account",
                """
                <p>Signed in as %s, %s.</p>%s<button>Sign out</button></form>"""
                        .formatted(name, database.address(name), visit.form("/sign-out")));
    }
}
