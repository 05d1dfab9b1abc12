// exit: 1
// args: x
// compare: stdout,stderr,exit
public class MainWithoutClass {
    static int boom = Integer.parseInt("not a number");

    public static void main(String[] args) {
        System.out.println("not reached");
    }
}
