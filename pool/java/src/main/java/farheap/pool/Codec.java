package farheap.pool;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;

/**
 * Bytes of records: a number of the record's shape, then its components in their order, the lowest byte first. A string
 * is its length in bytes and UTF-8, an array its length and its bytes; null has the length -1.
 */
abstract class Codec<T> {
    private static final ClassValue<Codec<?>> CODECS =
            new ClassValue<>() {
                @Override
                protected Codec<?> computeValue(Class<?> type) {
                    return new OfRecord<>(type.asSubclass(Record.class));
                }
            };

    /** The codec of a class. */
    @SuppressWarnings("unchecked")
    static <T> Codec<T> of(Class<T> type) {
        if (type == String.class) {
            return (Codec<T>) new OfString();
        }
        if (!type.isRecord()) {
            throw new IllegalArgumentException(type.getName() + " is no record");
        }
        return (Codec<T>) CODECS.get(type);
    }

    abstract byte[] encode(T value);

    /** Throws IllegalArgumentException if the bytes are of another shape. */
    abstract T decode(byte[] bytes);

    private static final class OfString extends Codec<String> {
        @Override
        byte[] encode(String value) {
            return value.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        String decode(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    private static final class OfRecord<T extends Record> extends Codec<T> {
        private static final Map<Class<?>, Kind> KINDS =
                Map.of(
                        boolean.class, Kind.BOOLEAN,
                        byte.class, Kind.BYTE,
                        short.class, Kind.SHORT,
                        char.class, Kind.CHAR,
                        int.class, Kind.INT,
                        long.class, Kind.LONG,
                        float.class, Kind.FLOAT,
                        double.class, Kind.DOUBLE,
                        String.class, Kind.STRING,
                        byte[].class, Kind.BYTES);

        private final Class<T> type;
        private final Kind[] kinds;
        /** Each takes the record and returns a component, both as objects. */
        private final MethodHandle[] accessors;
        /** Takes an array of the components. */
        private final MethodHandle constructor;
        private final int shape;

        OfRecord(Class<T> type) {
            this.type = type;
            RecordComponent[] components = type.getRecordComponents();
            kinds = new Kind[components.length];
            accessors = new MethodHandle[components.length];
            Class<?>[] types = new Class<?>[components.length];
            StringJoiner text = new StringJoiner(",");
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            try {
                for (int i = 0; i < components.length; i++) {
                    types[i] = components[i].getType();
                    kinds[i] = KINDS.get(types[i]);
                    if (kinds[i] == null) {
                        throw new IllegalArgumentException(
                                type.getName() + " has a component of " + types[i].getName()
                                        + ": primitives, String and byte[] are possible");
                    }
                    Method accessor = components[i].getAccessor();
                    accessor.setAccessible(true);
                    accessors[i] =
                            lookup.unreflect(accessor)
                                    .asType(MethodType.methodType(Object.class, Object.class));
                    text.add(components[i].getName() + ":" + kinds[i]);
                }
                Constructor<T> canonical = type.getDeclaredConstructor(types);
                canonical.setAccessible(true);
                constructor =
                        lookup.unreflectConstructor(canonical)
                                .asSpreader(Object[].class, types.length)
                                .asType(MethodType.methodType(Object.class, Object[].class));
            } catch (InaccessibleObjectException closed) {
                throw new IllegalArgumentException(
                        type.getName() + " is not open to the module farheap.pool", closed);
            } catch (ReflectiveOperationException failure) {
                throw new IllegalArgumentException(type.getName() + ": " + failure, failure);
            }
            shape = text.toString().hashCode();
        }

        @Override
        byte[] encode(T value) {
            type.cast(value);
            Object[] parts = new Object[kinds.length];
            int size = Integer.BYTES;
            try {
                for (int i = 0; i < parts.length; i++) {
                    Object part = accessors[i].invokeExact((Object) value);
                    parts[i] = part instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : part;
                    int more = parts[i] instanceof byte[] bytes ? bytes.length : 0;
                    size = Math.addExact(size, Math.addExact(kinds[i].bytes, more));
                }
            } catch (ArithmeticException tooLarge) {
                throw new IllegalArgumentException("a record of more than 2 GiB", tooLarge);
            } catch (RuntimeException | Error thrown) {
                throw thrown;
            } catch (Throwable thrown) {
                throw new IllegalArgumentException("an accessor of " + type.getName() + " throws", thrown);
            }
            ByteBuffer into = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
            into.putInt(shape);
            for (int i = 0; i < parts.length; i++) {
                put(into, kinds[i], parts[i]);
            }
            return into.array();
        }

        @Override
        T decode(byte[] bytes) {
            ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            try {
                if (from.getInt() != shape) {
                    throw other(null);
                }
                Object[] parts = new Object[kinds.length];
                for (int i = 0; i < parts.length; i++) {
                    parts[i] = take(from, kinds[i]);
                }
                if (from.hasRemaining()) {
                    throw other(null);
                }
                return type.cast((Object) constructor.invokeExact(parts));
            } catch (BufferUnderflowException tooShort) {
                throw other(tooShort);
            } catch (RuntimeException | Error thrown) {
                throw thrown;
            } catch (Throwable thrown) {
                throw new IllegalArgumentException("the constructor of " + type.getName() + " throws", thrown);
            }
        }

        private IllegalArgumentException other(Throwable cause) {
            return new IllegalArgumentException("bytes of another class than " + type.getName(), cause);
        }

        private static void put(ByteBuffer into, Kind kind, Object part) {
            switch (kind) {
                case BOOLEAN -> into.put((byte) ((Boolean) part ? 1 : 0));
                case BYTE -> into.put((Byte) part);
                case SHORT -> into.putShort((Short) part);
                case CHAR -> into.putChar((Character) part);
                case INT -> into.putInt((Integer) part);
                case LONG -> into.putLong((Long) part);
                case FLOAT -> into.putFloat((Float) part);
                case DOUBLE -> into.putDouble((Double) part);
                case STRING, BYTES -> {
                    byte[] bytes = (byte[]) part;
                    into.putInt(bytes == null ? -1 : bytes.length);
                    if (bytes != null) {
                        into.put(bytes);
                    }
                }
            }
        }

        private Object take(ByteBuffer from, Kind kind) {
            return switch (kind) {
                case BOOLEAN -> from.get() != 0;
                case BYTE -> from.get();
                case SHORT -> from.getShort();
                case CHAR -> from.getChar();
                case INT -> from.getInt();
                case LONG -> from.getLong();
                case FLOAT -> from.getFloat();
                case DOUBLE -> from.getDouble();
                case STRING -> {
                    byte[] bytes = takeBytes(from);
                    yield bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
                }
                case BYTES -> takeBytes(from);
            };
        }

        private byte[] takeBytes(ByteBuffer from) {
            int length = from.getInt();
            if (length < -1 || length > from.remaining()) {
                throw other(null);
            }
            if (length == -1) {
                return null;
            }
            byte[] bytes = new byte[length];
            from.get(bytes);
            return bytes;
        }
    }

    /** What a component can be, with the bytes that it has always. */
    private enum Kind {
        BOOLEAN(1),
        BYTE(1),
        SHORT(2),
        CHAR(2),
        INT(4),
        LONG(8),
        FLOAT(4),
        DOUBLE(8),
        STRING(4),
        BYTES(4);

        final int bytes;

        Kind(int bytes) {
            this.bytes = bytes;
        }
    }
}
