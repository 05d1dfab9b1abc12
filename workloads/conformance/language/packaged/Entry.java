package language.packaged;

public class Entry {
    protected int guarded = 4;

    static class Inner {
        static String where() {
            return Inner.class.getPackageName() + "/" + Inner.class.getName();
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(Inner.where() + " " + Entry.class.getPackage() + " " + new Entry().guarded);
        System.out.println(Class.forName("language.packaged.Entry$Inner").getSimpleName());
        System.out.println(Entry.class.getResource("Entry.class") != null);
        System.out.println(new Throwable().getStackTrace()[0]);
    }
}
