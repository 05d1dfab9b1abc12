// vm: -Xmx16m
// exit: 1
// compare: stdout,exit
import java.util.ArrayList;
import java.util.List;

public class OutOfMemoryUncaught {
    public static void main(String[] args) {
        System.out.println("begin");
        List<Object> all = new ArrayList<>();
        while (true) {
            all.add(new int[1000]);
        }
    }
}
