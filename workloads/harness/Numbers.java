package harness;

/** A program's arguments: whole numbers in their order, or defaults where there are fewer. */
public final class Numbers {
    private Numbers() {}

    /** The arguments that {@code usage} names, one for each word; ends the program with a message otherwise. */
    public static int[] of(String[] args, String usage, int... defaults) {
        String[] names = usage.split(" ");
        if (names.length != defaults.length) {
            throw new IllegalArgumentException("names and numbers differ in count");
        }
        int[] numbers = defaults.clone();
        if (args.length > numbers.length) {
            refuse(usage, "there are " + args.length);
        }
        for (int i = 0; i < args.length; i++) {
            try {
                numbers[i] = Integer.parseInt(args[i]);
            } catch (NumberFormatException e) {
                refuse(usage, names[i] + " is " + args[i]);
            }
            if (numbers[i] < 0) {
                refuse(usage, names[i] + " is below zero");
            }
        }
        return numbers;
    }

    private static void refuse(String usage, String why) {
        System.err.println("arguments, whole numbers: " + usage + "; " + why);
        System.exit(2);
    }
}
