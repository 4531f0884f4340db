package toll.petstore;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/** The server's certificate and private key, from PEM files into a key store in memory. */
final class Identity {
    /** Of the key store, which never leaves this process. */
    static final String PASSWORD = "memory";

    private Identity() {}

    static KeyStore read(Path certificate, Path key) throws IOException, GeneralSecurityException {
        Certificate[] chain;
        try (InputStream pem = Files.newInputStream(certificate)) {
            chain =
                    CertificateFactory.getInstance("X.509")
                            .generateCertificates(pem)
                            .toArray(new Certificate[0]);
        }
        // JKS, which needs no cipher of any provider.
        KeyStore store = KeyStore.getInstance("JKS");
        store.load(null, null);
        PrivateKey secret = privateKey(key, chain[0].getPublicKey().getAlgorithm());
        store.setKeyEntry("server", secret, PASSWORD.toCharArray(), chain);
        return store;
    }

    /** From Java's own providers: a PKCS#11 module would keep the key and not store it. */
    private static PrivateKey privateKey(Path key, String algorithm)
            throws IOException, GeneralSecurityException {
        String base64 =
                Files.readString(key).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        String provider = algorithm.equals("RSA") ? "SunRsaSign" : "SunEC";
        byte[] encoded = Base64.getDecoder().decode(base64);
        return KeyFactory.getInstance(algorithm, provider)
                .generatePrivate(new PKCS8EncodedKeySpec(encoded));
    }
}
