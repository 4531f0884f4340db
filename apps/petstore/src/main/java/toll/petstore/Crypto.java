package toll.petstore;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Security;
import java.security.Signature;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * What the cryptography of TLS runs on in this process, and what AES costs in it. Java picks the provider of an algorithm when
 * the key is known; JSSE asks for its ciphers in the same way and by the same names, so what is found
 * here is what TLS uses.
 */
final class Crypto {
    private static final String CBC = "AES/CBC/NoPadding";
    private static final String GCM = "AES/GCM/NoPadding";
    /** The plaintext of a full TLS record. */
    private static final byte[] RECORD = new byte[16 << 10];
    private static final int KEY_BYTES = 16;
    private static final int GCM_NONCE_BYTES = 12;
    private static final int GCM_TAG_BITS = 128;
    /** Calls after which Java's last compiler has taken notice; only its code has AES instructions. */
    private static final int WARM_UP_CALLS = 20_000;

    private static final int WARM_UP_BYTES = 1 << 10;
    private static final int SLICES = 10;
    private static final long SLICE_NS = 20_000_000;
    /** Between two looks at the clock of CPU time, which takes a system call. */
    private static final int RECORDS_PER_LOOK = 16;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Crypto() {}

    /** As JSON: providers by algorithm, nanoseconds per byte by cipher, what TLS may not use. */
    static String json() throws GeneralSecurityException {
        String providers =
                providers().entrySet().stream()
                        .map(entry -> "\"%s\":\"%s\"".formatted(entry.getKey(), entry.getValue()))
                        .collect(Collectors.joining(","));
        return String.format(
                Locale.ROOT,
                "{\"providers\":{%s},\"ns_per_byte\":{\"%s\":%.4f,\"%s\":%.4f},"
                        + "\"disabled\":\"%s\"}",
                providers,
                CBC,
                nsPerByte(CBC),
                GCM,
                nsPerByte(GCM),
                Security.getProperty("jdk.tls.disabledAlgorithms"));
    }

    private static Map<String, String> providers() throws GeneralSecurityException {
        Map<String, String> providers = new TreeMap<>();
        for (String name : new String[] {CBC, GCM}) {
            Cipher cipher = Cipher.getInstance(name);
            cipher.init(Cipher.ENCRYPT_MODE, aesKey(), parameters(name, 0));
            providers.put(name, cipher.getProvider().getName());
        }
        Mac mac = Mac.getInstance("HmacSHA1");
        mac.init(new SecretKeySpec(new byte[20], "HmacSHA1"));
        providers.put("HmacSHA1", mac.getProvider().getName());
        KeyPair rsa = KeyPairGenerator.getInstance("RSA", "SunRsaSign").generateKeyPair();
        Cipher decrypt = Cipher.getInstance("RSA/ECB/PKCS1Padding");
        decrypt.init(Cipher.DECRYPT_MODE, rsa.getPrivate());
        providers.put("RSA/ECB/PKCS1Padding", decrypt.getProvider().getName());
        for (String name : new String[] {"SHA256withRSA", "RSASSA-PSS"}) {
            Signature signature = Signature.getInstance(name);
            signature.initSign(rsa.getPrivate());
            providers.put(name, signature.getProvider().getName());
        }
        for (String[] names : new String[][] {{"ECDH", "EC"}, {"X25519", "X25519"}}) {
            KeyPair key = KeyPairGenerator.getInstance(names[1], "SunEC").generateKeyPair();
            KeyAgreement agreement = KeyAgreement.getInstance(names[0]);
            agreement.init(key.getPrivate());
            providers.put(names[0], agreement.getProvider().getName());
        }
        return providers;
    }

    /**
     * Encrypts full records, each with a nonce of its own, and gives the best of several slices of
     * this thread's CPU time: a busy machine only ever makes a slice slower. The calls before that are
     * short ones, since code is compiled for the number of its calls.
     */
    private static double nsPerByte(String name) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(name);
        byte[] out = new byte[RECORD.length + GCM_TAG_BITS / 8];
        SecretKeySpec key = aesKey();
        long record = 0;
        while (record < WARM_UP_CALLS) {
            cipher.init(Cipher.ENCRYPT_MODE, key, parameters(name, record++));
            cipher.doFinal(RECORD, 0, WARM_UP_BYTES, out);
        }
        double best = Double.MAX_VALUE;
        for (int slice = 0; slice < SLICES; slice++) {
            long first = record;
            long start = THREADS.getCurrentThreadCpuTime();
            long elapsed;
            do {
                for (int i = 0; i < RECORDS_PER_LOOK; i++) {
                    cipher.init(Cipher.ENCRYPT_MODE, key, parameters(name, record++));
                    cipher.doFinal(RECORD, 0, RECORD.length, out);
                }
                elapsed = THREADS.getCurrentThreadCpuTime() - start;
            } while (elapsed < SLICE_NS);
            best = Math.min(best, (double) elapsed / ((record - first) * RECORD.length));
        }
        return best;
    }

    private static SecretKeySpec aesKey() {
        byte[] key = new byte[KEY_BYTES];
        key[0] = 1;
        return new SecretKeySpec(key, "AES");
    }

    private static AlgorithmParameterSpec parameters(String name, long record) {
        byte[] nonce = new byte[name.equals(GCM) ? GCM_NONCE_BYTES : KEY_BYTES];
        for (int i = 0; i < 8; i++) {
            nonce[i] = (byte) (record >>> 8 * i);
        }
        return name.equals(GCM)
                ? new GCMParameterSpec(GCM_TAG_BITS, nonce)
                : new IvParameterSpec(nonce);
    }
}
