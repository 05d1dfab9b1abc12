// vm: -Xmx16m
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class OutOfMemory {
    static List<Object> hold = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 2; round++) {
            try {
                while (true) {
                    hold.add(new byte[10_000]);
                }
            } catch (OutOfMemoryError e) {
                int n = hold.size();
                hold = null;
                hold = new ArrayList<>();
                System.out.println("caught " + e.getMessage() + " " + (n > 300));
            }
        }
        for (int size : new int[] {Integer.MAX_VALUE, Integer.MAX_VALUE - 1, 1_000_000_000}) {
            try {
                System.out.println(new long[size].length);
            } catch (OutOfMemoryError e) {
                System.out.println(e.getMessage());
            }
        }
        try {
            System.out.println(new int[20_000][20_000].length);
        } catch (OutOfMemoryError e) {
            System.out.println(e.getMessage());
        }
        try {
            StringBuilder sb = new StringBuilder("x");
            while (true) {
                sb.append(sb);
            }
        } catch (OutOfMemoryError e) {
            System.out.println("builder");
        }
        Map<Integer, Object> map = new HashMap<>();
        try {
            for (int i = 0; ; i++) {
                map.put(i, new Object[100]);
            }
        } catch (OutOfMemoryError e) {
            map = null;
            System.out.println("map");
        }
        Object[] list = null;
        try {
            while (true) {
                list = new Object[] {list, list};
            }
        } catch (OutOfMemoryError e) {
            list = null;
            System.out.println("list");
        }
        Thread t = new Thread(() -> {
            try {
                List<int[]> l = new ArrayList<>();
                while (true) {
                    l.add(new int[1000]);
                }
            } catch (OutOfMemoryError e) {
                System.out.println("in thread");
            }
        });
        t.start();
        t.join();
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            sum += new byte[100_000].length;
        }
        System.out.println("alive " + sum);
    }
}
