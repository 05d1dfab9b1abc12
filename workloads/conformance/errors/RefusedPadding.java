// vm: -XX:ContendedPaddingWidth=12
// exit: 1
// compare: stdout,exit
/** A number in the range of its option that is refused all the same: not whole words. */
public class RefusedPadding {
    public static void main(String[] args) {
        System.out.println("not run");
    }
}
