import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * CPU time per operation of inner loops of the class library, in nanoseconds, once they are compiled. Arguments:
 * milliseconds of warming each one up (default 1000); then names to run, or parts of them (default: all).
 */
public class Kernels {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final VarHandle LONGS =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static String[] arguments;
    private static long sink;

    interface Kernel {
        long run(int count) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        arguments = args;
        byte[] bytes = new byte[4096];
        new Random(1).nextBytes(bytes);
        numbers();
        checksums(bytes);
        views(bytes);
        texts();
    }

    private static void numbers() throws Exception {
        measure("fma", 5000, count -> {
            double sum = 0;
            for (int i = 0; i < count; i++) {
                sum = Math.fma(i, 1.1, sum);
            }
            return (long) sum;
        });
        measure("fma of floats", 5000, count -> {
            float sum = 0;
            for (int i = 0; i < count; i++) {
                sum = Math.fma(i, 1.1f, sum * 0.9f);
            }
            return (long) sum;
        });
    }

    private static void checksums(byte[] bytes) throws Exception {
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length).put(bytes);
        measure("CRC32 4K", 300, count -> {
            CRC32 sum = new CRC32();
            for (int i = 0; i < count; i++) {
                sum.update(bytes);
            }
            return sum.getValue();
        });
        measure("CRC32 16 bytes", 3000, count -> {
            CRC32 sum = new CRC32();
            for (int i = 0; i < count; i++) {
                sum.update(bytes, i & 1023, 16);
            }
            return sum.getValue();
        });
        measure("CRC32C 4K", 300, count -> {
            CRC32C sum = new CRC32C();
            for (int i = 0; i < count; i++) {
                sum.update(bytes);
            }
            return sum.getValue();
        });
        measure("CRC32C direct 4K", 300, count -> {
            CRC32C sum = new CRC32C();
            for (int i = 0; i < count; i++) {
                sum.update(direct.position(0));
            }
            return sum.getValue();
        });
        for (String name : new String[] {"MD5", "SHA-1", "SHA-256", "SHA-512"}) {
            MessageDigest digest = MessageDigest.getInstance(name);
            measure(name + " 4K", 50, count -> {
                for (int i = 0; i < count; i++) {
                    digest.update(bytes);
                }
                return digest.digest()[0];
            });
        }
    }

    private static void views(byte[] bytes) throws Exception {
        VarHandle longs = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
        measure("VarHandle in a local", 50_000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (long) longs.get(bytes, i * 8 & 4088);
            }
            return sum;
        });
        measure("VarHandle in a static", 50_000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (long) LONGS.get(bytes, i * 8 & 4088);
            }
            return sum;
        });
        ByteBuffer heap = ByteBuffer.wrap(bytes);
        measure("ByteBuffer", 50_000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += heap.getLong(i * 8 & 4088);
            }
            return sum;
        });
    }

    private static void texts() throws Exception {
        measure("concatenation of numbers", 5000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += ("a" + i + "b" + i * 2L).length();
            }
            return sum;
        });
        String left = "foo";
        String right = "barbaz";
        measure("concatenation of strings", 5000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (left + ":" + right).length();
            }
            return sum;
        });
        Pattern pattern = Pattern.compile("(\\d+)-(\\w+)");
        measure("regular expression", 2000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += pattern.matcher("foo 123-abc bar").find() ? 1 : 0;
            }
            return sum;
        });
        measure("String.format", 300, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += String.format("%d %s %.2f", i, "x", 1.5).length();
            }
            return sum;
        });
        measure("Integer.toString", 5000, count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += Integer.toString(i * 77_777).length();
            }
            return sum;
        });
    }

    /** The best of some rounds, after a warm-up. */
    private static void measure(String name, int count, Kernel kernel) throws Exception {
        boolean isWanted = arguments.length < 2;
        for (int i = 1; i < arguments.length; i++) {
            isWanted |= name.contains(arguments[i]);
        }
        if (!isWanted) {
            return;
        }
        long warmUp = arguments.length > 0 ? Long.parseLong(arguments[0]) : 1000;
        long end = System.nanoTime() + warmUp * 1_000_000;
        while (System.nanoTime() < end) {
            sink += kernel.run(count);
        }
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 9; round++) {
            long start = THREADS.getCurrentThreadCpuTime();
            sink += kernel.run(count);
            best = Math.min(best, THREADS.getCurrentThreadCpuTime() - start);
        }
        System.out.printf("%-26s %10.1f%n", name, best / (double) count);
    }
}
