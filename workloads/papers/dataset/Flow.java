package dataset;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.function.Predicate;

/** Iterators over the elements of others: one element is in flight at a time, for partitions of any size. */
abstract class Flow<T> implements Iterator<T> {
    private T next;
    private boolean ended;

    /** The next element, or null at the end: elements are never null. */
    protected abstract T advance();

    @Override
    public final boolean hasNext() {
        if (next == null && !ended) {
            next = advance();
            ended = next == null;
        }
        return next != null;
    }

    @Override
    public final T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        T result = next;
        next = null;
        return result;
    }

    static <S, T> Iterator<T> map(Iterator<S> from, Function<? super S, ? extends T> function) {
        return new Flow<>() {
            @Override
            protected T advance() {
                return from.hasNext() ? function.apply(from.next()) : null;
            }
        };
    }

    static <T> Iterator<T> filter(Iterator<T> from, Predicate<? super T> predicate) {
        return new Flow<>() {
            @Override
            protected T advance() {
                while (from.hasNext()) {
                    T candidate = from.next();
                    if (predicate.test(candidate)) {
                        return candidate;
                    }
                }
                return null;
            }
        };
    }

    static <S, T> Iterator<T> flatMap(Iterator<S> from, Function<? super S, ? extends Iterator<T>> function) {
        return new Flow<>() {
            private Iterator<T> current;

            @Override
            protected T advance() {
                while (current == null || !current.hasNext()) {
                    if (!from.hasNext()) {
                        return null;
                    }
                    current = function.apply(from.next());
                }
                return current.next();
            }
        };
    }

    /** An array's elements, which are of the type that the caller says. */
    @SuppressWarnings("unchecked")
    static <T> Iterator<T> of(Object[] elements) {
        return new Flow<>() {
            private int at;

            @Override
            protected T advance() {
                return at < elements.length ? (T) elements[at++] : null;
            }
        };
    }
}
