import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

public class Codecs {
    public static void main(String[] args) throws Exception {
        byte[] data = new byte[1000];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * 7);
        }
        for (java.util.zip.Checksum c : new java.util.zip.Checksum[] {new CRC32(), new CRC32C(), new Adler32()}) {
            c.update(data, 3, 900);
            c.update(5);
            System.out.println(c.getClass().getSimpleName() + " " + Long.toHexString(c.getValue()));
        }
        for (String name : new String[] {"MD5", "SHA-1", "SHA-256", "SHA-512", "SHA3-256"}) {
            MessageDigest digest = MessageDigest.getInstance(name);
            digest.update(data, 0, 500);
            System.out.println(name + " " + HexFormat.of().formatHex(digest.digest(data)));
        }
        String encoded = Base64.getEncoder().encodeToString("any carnal pleasure.".getBytes(StandardCharsets.US_ASCII));
        System.out.println(encoded + " " + new String(Base64.getDecoder().decode(encoded)) + " "
            + Base64.getUrlEncoder().withoutPadding().encodeToString(new byte[] {-1, -2, -3, -4}) + " "
            + Base64.getMimeEncoder().encodeToString(data).length());
        try {
            Base64.getDecoder().decode("@@@@");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec("key".getBytes(), "HmacSHA256"));
        System.out.println(HexFormat.of().formatHex(mac.doFinal(data)));
        Cipher cipher = Cipher.getInstance("AES/CBC/PKCS5Padding");
        SecretKeySpec key = new SecretKeySpec(new byte[16], "AES");
        cipher.init(Cipher.ENCRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        byte[] secret = cipher.doFinal("attack at dawn".getBytes());
        System.out.println(HexFormat.ofDelimiter(":").formatHex(secret));
        cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(new byte[16]));
        System.out.println(new String(cipher.doFinal(secret)));
        System.out.println(HexFormat.of().parseHex("cafe")[0]);
    }
}
