import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;

public class Annotations {
    enum Level { LOW, HIGH }

    @Retention(RetentionPolicy.RUNTIME)
    @Inherited
    @interface All {
        byte b() default 1;

        short s() default 2;

        char c() default 'c';

        int i() default 4;

        long l() default 5;

        float f() default 6;

        double d() default 7;

        boolean z() default true;

        String text() default "text";

        Class<?> type() default String.class;

        Level level() default Level.HIGH;

        Tag tag() default @Tag("inner");

        int[] ints() default {1, 2};

        String[] strings() default {};

        Class<?>[] types() default {int.class, int[][].class};

        Level[] levels() default {Level.LOW, Level.HIGH};

        Tag[] tags() default {@Tag("x"), @Tag("y")};

        boolean[] flags() default {true};

        double[] doubles() default 1.5;
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Repeatable(Tags.class)
    @interface Tag {
        String value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Tags {
        Tag[] value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER})
    @interface Use {
        int value() default 0;
    }

    @Retention(RetentionPolicy.CLASS)
    @interface Invisible {}

    @All(i = 40, strings = {"p", "q"}, type = void.class)
    @Invisible
    static class Parent {}

    static class Child extends Parent {
        @Tag("one")
        @Tag("two")
        @Deprecated(since = "9", forRemoval = true)
        @Use(3) List<@Use(4) String> method(@Tag("parameter") int a, @Use String b) throws @Use(9) RuntimeException {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        All all = Parent.class.getAnnotation(All.class);
        System.out.println(all.b() + " " + all.s() + " " + all.c() + " " + all.i() + " " + all.l() + " " + all.f() + " " + all.d() + " " + all.z() + " "
            + all.text() + " " + all.type() + " " + all.level() + " " + all.tag() + " " + Arrays.toString(all.ints()) + Arrays.toString(all.strings())
            + Arrays.toString(all.types()) + Arrays.toString(all.levels()) + Arrays.toString(all.tags()) + Arrays.toString(all.flags()) + Arrays.toString(all.doubles()));
        System.out.println(Child.class.getAnnotations().length + " " + Child.class.getDeclaredAnnotations().length + " " + Parent.class.getAnnotations().length
            + " " + Child.class.isAnnotationPresent(All.class) + " " + all.equals(Child.class.getAnnotation(All.class)) + " "
            + (all.hashCode() == Child.class.getAnnotation(All.class).hashCode()) + " " + all.annotationType());
        Method m = Child.class.getDeclaredMethod("method", int.class, String.class);
        System.out.println(Arrays.toString(m.getAnnotationsByType(Tag.class)) + " " + m.getAnnotation(Tags.class).value().length + " " + m.getAnnotation(Tag.class));
        System.out.println(m.getAnnotation(Deprecated.class));
        System.out.println(Arrays.deepToString(m.getParameterAnnotations()) + " " + m.getParameters()[0]);
        AnnotatedType result = m.getAnnotatedReturnType();
        System.out.println(Arrays.toString(result.getAnnotations()) + " " + result + " " + m.getAnnotatedExceptionTypes()[0] + " " + m.getAnnotatedParameterTypes()[1]);
        System.out.println(All.class.getMethod("ints").getDefaultValue().getClass() + " " + All.class.getMethod("text").getDefaultValue());
        System.out.println(Tag.class.isAnnotation() + " " + Arrays.toString(Use.class.getAnnotation(Target.class).value()));
    }
}
