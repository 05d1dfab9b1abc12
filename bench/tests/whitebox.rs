//! `jdk.test.whitebox.WhiteBox`, with and without the option.
//!
//! Needs the release `vm` beside the test runner's folder (`make build`), and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use programs::program;

/// A few of the functions of the class that the OpenJDK's tests bring along.
const WHITE_BOX: &str = r#"
package jdk.test.whitebox;

import java.lang.reflect.Executable;

public class WhiteBox {
    public static native void registerNatives();
    static { registerNatives(); }
    public native Boolean getBooleanVMFlag(String name);
    public native Long getIntxVMFlag(String name);
    public native String getStringVMFlag(String name);
    public native boolean isLockedVMFlag(String name);
    public native void setBooleanVMFlag(String name, boolean value);
    public native String getCPUFeatures();
    public native boolean isGCSelected(int name);
    public native boolean isGCSelectedErgonomically();
    public native void fullGC();
    public native void youngGC();
    public native boolean isObjectInOldGen0(Object o);
    public native long getObjectSize0(Object o);
    public native int g1RegionSize();
    public native boolean g1IsHumongous0(Object o);
    public native boolean g1StartConcMarkCycle();
    public native boolean g1InConcurrentMark();
    public native int countAliveClasses0(String name);
    public native boolean isInStringTable(String string);
    public native boolean isMonitorInflated0(Object o);
    public native boolean isMethodCompiled0(Executable method, boolean isOsr);
    public native boolean isMethodCompilable0(Executable method, int level, boolean isOsr);
    public native boolean enqueueMethodForCompilation0(Executable method, int level, int bci);
    public native int getMethodCompilationLevel0(Executable method, boolean isOsr);
    public native int deoptimizeMethod0(Executable method, boolean isOsr);
    public native void makeMethodNotCompilable0(Executable method, int level, boolean isOsr);
    public native void clearMethodState0(Executable method);
    public native int getSymbolRefcount(String name);
}
"#;

const TOUR: &str = r#"
import java.lang.ref.SoftReference;
import java.lang.reflect.Method;
import jdk.test.whitebox.WhiteBox;

public class Tour {
    static int twice(int n) { return 2 * n; }

    static long loop(Object checked, int n) {
        java.util.Objects.requireNonNull(checked);
        long sum = 0;
        for (int i = 0; i < n; i++) { sum += i ^ sum; }
        return sum;
    }

    static void check(String what, boolean holds) {
        System.out.println((holds ? "ok " : "NOT ") + what);
    }

    public static void main(String[] args) throws Exception {
        WhiteBox box = new WhiteBox();
        if (args.length > 0) {
            try {
                box.fullGC();
            } catch (UnsatisfiedLinkError error) {
                System.out.println("closed");
            }
            return;
        }
        check("flags", box.getBooleanVMFlag("WhiteBoxAPI") && box.getBooleanVMFlag("MaxHeapSize") == null
            && box.getIntxVMFlag("TieredStopAtLevel") == 4 && box.getBooleanVMFlag("NoSuchFlag") == null
            && !box.isLockedVMFlag("WhiteBoxAPI") && box.isLockedVMFlag("G1NewSizePercent"));
        box.setBooleanVMFlag("HeapDumpOnOutOfMemoryError", true);
        check("set", box.getBooleanVMFlag("HeapDumpOnOutOfMemoryError"));
        check("cpu", box.getCPUFeatures().contains(", sse2"));
        check("collector", box.isGCSelected(3) && box.isGCSelectedErgonomically());

        SoftReference<byte[]> soft = new SoftReference<>(new byte[100]);
        Object young = new Object();
        check("young", !box.isObjectInOldGen0(young));
        box.youngGC();
        check("still young", !box.isObjectInOldGen0(young) && soft.get() != null);
        box.fullGC();
        check("old", box.isObjectInOldGen0(young) && soft.get() == null);
        int region = box.g1RegionSize();
        check("humongous", box.g1IsHumongous0(new byte[region]) && !box.g1IsHumongous0(young));
        check("size", box.getObjectSize0(new byte[8]) >= 16);
        check("marking", box.g1StartConcMarkCycle());
        while (box.g1InConcurrentMark()) { Thread.sleep(1); }
        check("classes", box.countAliveClasses0("Tour") == 1 && box.countAliveClasses0("NoTour") == 0);
        check("strings", box.isInStringTable("Tour") && !box.isInStringTable("a" + System.nanoTime()));
        Object lock = new Object();
        boolean wasInflated = box.isMonitorInflated0(lock);
        synchronized (lock) { lock.wait(1); }
        check("monitor", !wasInflated && box.isMonitorInflated0(lock));

        Method twice = Tour.class.getDeclaredMethod("twice", int.class);
        check("interpreted", !box.isMethodCompiled0(twice, false) && box.getMethodCompilationLevel0(twice, false) == 0);
        check("compilable", box.isMethodCompilable0(twice, -1, false) && box.isMethodCompilable0(twice, 4, false));
        check("queued", box.enqueueMethodForCompilation0(twice, 4, -1));
        for (int i = 0; i < 10000 && !box.isMethodCompiled0(twice, false); i++) { Thread.sleep(1); }
        check("compiled", box.getMethodCompilationLevel0(twice, false) == 4 && twice(3) == 6);
        check("discarded", box.deoptimizeMethod0(twice, false) == 1 && !box.isMethodCompiled0(twice, false));
        check("runs on", twice(4) == 8);
        box.makeMethodNotCompilable0(twice, -1, false);
        check("excluded", !box.enqueueMethodForCompilation0(twice, 4, -1));
        box.clearMethodState0(twice);
        check("included", box.isMethodCompilable0(twice, 4, false));
        Method loop = Tour.class.getDeclaredMethod("loop", Object.class, int.class);
        check("loop", loop("x", 30_000_000) != 0 && box.isMethodCompiled0(loop, true));
        try {
            box.getSymbolRefcount("x");
        } catch (UnsatisfiedLinkError error) {
            System.out.println("ok left out");
        }
    }
}
"#;

#[test]
fn the_door_is_open_with_the_option_only() {
    let (jdk, scratch) = (Jdk::find().unwrap(), Scratch::new("whitebox").unwrap());
    let sources = [("WhiteBox", WHITE_BOX), ("Tour", TOUR)].map(|(name, text)| {
        let path = scratch.path().join(format!("{name}.java"));
        std::fs::write(&path, text).unwrap();
        path
    });
    let classes = scratch.folder("classes").unwrap();
    jdk.compile(&sources, &classes).unwrap();
    let run = |options: &[&str], arguments: &[&str]| {
        let mut command = jdk::plain(&program("vm"), &jdk);
        command.arg("run").args(options).arg("-Xmx64m");
        command.arg(format!("-Xbootclasspath/a:{}", classes.display()));
        let output = command.arg("-cp").arg(&classes).arg("Tour").args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8(output.stdout).unwrap(), error)
    };
    let (text, error) = run(&["-XX:+UnlockDiagnosticVMOptions", "-XX:+WhiteBoxAPI"], &[]);
    let is_fine = text.lines().count() == 23 && text.lines().all(|line| line.starts_with("ok "));
    assert!(is_fine, "{text}{error}");
    assert_eq!(run(&[], &["closed"]).0, "closed\n");
    assert!(run(&["-XX:+WhiteBoxAPI"], &[]).1.contains("UnlockDiagnosticVMOptions"));
}
