//! The `JVM_*` functions that the JDK's native libraries import from `libjvm.so`.
