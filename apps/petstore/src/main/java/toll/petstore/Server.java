package toll.petstore;

import jakarta.servlet.Servlet;
import java.io.IOException;
import java.net.InetAddress;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.servlets.DefaultServlet;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.util.ServerInfo;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/**
 * Tomcat with the pages of the shop, on loopback: one port for TLS, where it is asked for, and one
 * for plain HTTP. Connections are kept for any number of requests; nothing is compressed or logged.
 */
final class Server {
    private static final String HOST = "127.0.0.1";
    private static final int KEEP_ALIVE_MS = 3_600_000;
    /** Connections that come at once and wait to be accepted. */
    private static final int BACKLOG = 65_535;

    private final Connector https;
    private final Connector plain;

    private Server(Connector https, Connector plain) {
        this.https = https;
        this.plain = plain;
    }

    static Server start(Options options, Database database)
            throws IOException, GeneralSecurityException, LifecycleException {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(options.database().resolve("tomcat").toString());
        Connector plain = connector(options.plain());
        tomcat.getService().addConnector(plain);
        tomcat.setConnector(plain);
        Connector https = null;
        if (options.https() != null) {
            https = connector(options.https());
            secure(https, options);
            tomcat.getService().addConnector(https);
        }
        addPages(tomcat, options, database);
        tomcat.start();
        for (Connector connector : tomcat.getService().findConnectors()) {
            if (connector.getLocalPort() < 0) {
                throw new IOException("port " + connector.getPort() + " cannot be had");
            }
        }
        return new Server(https, plain);
    }

    /** {@code Apache Tomcat/10.1.34}. */
    static String version() {
        return ServerInfo.getServerInfo();
    }

    /** The address of TLS; null where it was not asked for. */
    String tls() {
        return https == null ? null : HOST + ":" + https.getLocalPort();
    }

    /** The address of plain HTTP. */
    String plain() {
        return HOST + ":" + plain.getLocalPort();
    }

    private static Connector connector(int port) throws IOException {
        Connector connector = new Connector("org.apache.coyote.http11.Http11NioProtocol");
        connector.setPort(port);
        AbstractHttp11Protocol<?> protocol =
                (AbstractHttp11Protocol<?>) connector.getProtocolHandler();
        protocol.setAddress(InetAddress.getByName(HOST));
        protocol.setMaxKeepAliveRequests(-1);
        protocol.setKeepAliveTimeout(KEEP_ALIVE_MS);
        protocol.setConnectionTimeout(KEEP_ALIVE_MS);
        protocol.setMaxConnections(-1);
        protocol.setAcceptCount(BACKLOG);
        return connector;
    }

    private static void secure(Connector connector, Options options)
            throws IOException, GeneralSecurityException {
        SSLHostConfig tls = new SSLHostConfig();
        // Java's choice. Tomcat's own leaves out TLS_RSA_*, which a client may ask for.
        SSLContext java = SSLContext.getInstance("TLS");
        java.init(null, new TrustManager[0], null);
        tls.setCiphers(String.join(":", java.getDefaultSSLParameters().getCipherSuites()));
        SSLHostConfigCertificate certificate =
                new SSLHostConfigCertificate(tls, SSLHostConfigCertificate.Type.UNDEFINED);
        certificate.setCertificateKeystore(Identity.read(options.certificate(), options.key()));
        certificate.setCertificateKeystorePassword(Identity.PASSWORD);
        tls.addCertificate(certificate);
        connector.setScheme("https");
        connector.setSecure(true);
        ((AbstractHttp11Protocol<?>) connector.getProtocolHandler()).setSSLEnabled(true);
        connector.addSslHostConfig(tls);
    }

    private static void addPages(Tomcat tomcat, Options options, Database database) {
        String root = options.root() == null ? null : options.root().toString();
        Context shop = tomcat.addContext("", root);
        StandardManager sessions = new StandardManager();
        sessions.setPathname(null);
        shop.setManager(sessions);
        Orders orders = new Orders(database);
        add(shop, "catalog", new CatalogPages(database), "", "/category/*", "/product/*", "/item/*");
        add(shop, "account", new AccountPages(database), "/sign-in", "/account", "/sign-out");
        add(shop, "cart", new CartPages(database), "/cart", "/cart/add", "/cart/update");
        add(
                shop,
                "order",
                new OrderPages(database, orders),
                "/checkout",
                "/payment",
                "/confirm",
                "/order/*");
        add(shop, "state", new StatePages(orders), "/orders", "/crypto");
        if (root != null) {
            add(shop, "files", new DefaultServlet(), "/bytes/*");
        }
    }

    private static void add(Context shop, String name, Servlet servlet, String... paths) {
        Tomcat.addServlet(shop, name, servlet);
        for (String path : paths) {
            shop.addServletMappingDecoded(path, name);
        }
    }
}
