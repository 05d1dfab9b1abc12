// args: one two three 4
public class Args {
    public static void main(String[] args) {
        for (int i = 0; i < args.length; i++) {
            System.out.println(i + "=" + args[i]);
        }
        System.out.println(Integer.parseInt(args[3]) * 2);
    }
}
