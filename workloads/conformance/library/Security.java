import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.security.AccessController;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.MessageDigest;
import java.security.PrivilegedAction;
import java.security.PrivilegedActionException;
import java.security.PrivilegedExceptionAction;
import java.security.spec.RSAPublicKeySpec;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

public class Security {
    @SuppressWarnings("removal")
    public static void main(String[] args) throws Exception {
        System.out.println(AccessController.doPrivileged((PrivilegedAction<String>) () -> "privileged"));
        try {
            AccessController.doPrivileged((PrivilegedExceptionAction<Void>) () -> {
                throw new java.io.IOException("checked");
            });
        } catch (PrivilegedActionException e) {
            System.out.println(e.getCause());
        }
        System.out.println(System.getSecurityManager());
        System.out.println(KeyFactory.getInstance("RSA").generatePublic(new RSAPublicKeySpec(BigInteger.TWO.pow(511).add(BigInteger.ONE), BigInteger.valueOf(3))).getAlgorithm());
        byte[] derived = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA1").generateSecret(new PBEKeySpec("password".toCharArray(), "salt".getBytes(), 2, 160)).getEncoded();
        System.out.println(new BigInteger(1, derived).toString(16));
        try {
            MessageDigest.getInstance("NONE-9000");
        } catch (NoSuchAlgorithmException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(java.security.Security.getProviders().length > 3);
        System.out.println(new ByteArrayInputStream(derived).available());
    }
}
