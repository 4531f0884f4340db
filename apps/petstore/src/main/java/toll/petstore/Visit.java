package toll.petstore;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** One request and its answer, as the pages see them. */
final class Visit {
    /** The longest page, so that a wrong number does not fill the network. */
    private static final int LONGEST = 64 << 20;

    final HttpServletRequest request;
    private final HttpServletResponse response;
    /** Null where the request lacks a session. */
    private User user;
    /** How long the page is to be at least. */
    private final int bytes;

    /** Throws {@link NumberFormatException} where {@code bytes} is no number up to 64 MiB. */
    Visit(HttpServletRequest request, HttpServletResponse response) {
        this.request = request;
        this.response = response;
        this.user = User.of(request.getSession(false));
        String asked = request.getParameter("bytes");
        this.bytes = asked == null ? 0 : Integer.parseUnsignedInt(asked);
        if (bytes > LONGEST || bytes < 0) {
            throw new NumberFormatException(asked);
        }
    }

    User user() {
        return user;
    }

    boolean isSignedIn() {
        return user != null && user.name() != null;
    }

    /** Makes a session where the request lacks one. */
    User beginSession() {
        if (user == null) {
            user = User.begin(request.getSession(true));
        }
        return user;
    }

    /** The session has another identifier from now on, so one that was planted is worth nothing. */
    void renewSession() {
        request.changeSessionId();
    }

    void endSession() {
        request.getSession().invalidate();
    }

    /** Whether a form comes from a page of this session. */
    boolean hasToken() {
        return user.token.equals(request.getParameter("token"));
    }

    /** A field of the form or the query, empty where it is not there. */
    String field(String name) {
        String value = request.getParameter(name);
        return value == null ? "" : value;
    }

    /** A number of the form; -1 where it is none. */
    int number(String name) {
        return number(field(name), -1);
    }

    /** The last part of the path; -1 where it is no number. */
    int pathNumber() {
        return number(pathName(), -1);
    }

    /** The last part of the path. */
    String pathName() {
        String rest = request.getPathInfo();
        return rest == null ? "" : rest.substring(1);
    }

    private static int number(String text, int otherwise) {
        return text.matches("\\d{1,9}") ? Integer.parseInt(text) : otherwise;
    }

    /** Sends the user to another page, which is to have the same length as this one. */
    void go(String path) throws IOException {
        String separator = path.contains("?") ? "&" : "?";
        response.sendRedirect(bytes == 0 ? path : path + separator + "bytes=" + bytes);
    }

    void fail(int status) throws IOException {
        response.sendError(status);
    }

    /** The page with this title and body, as long as was asked. */
    void show(String title, String body) throws IOException {
        String head =
                """
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="utf-8"><title>%s</title></head>
                <body><h1>%s</h1>
                %s
                <p>"""
                        .formatted(title, title, body);
        byte[] start = head.getBytes(StandardCharsets.UTF_8);
        byte[] end = "</p></body></html>\n".getBytes(StandardCharsets.US_ASCII);
        int filler = Math.max(0, bytes - start.length - end.length);
        response.setContentType("text/html;charset=utf-8");
        response.setContentLength(start.length + filler + end.length);
        OutputStream out = response.getOutputStream();
        out.write(start);
        Filler.write(out, filler, title);
        out.write(end);
    }

    /** The start of a form that brings back the token. */
    String form(String action) {
        return """
                <form method="post" action="%s"><input type="hidden" name="token" value="%s">"""
                .formatted(action, user.token);
    }
}
