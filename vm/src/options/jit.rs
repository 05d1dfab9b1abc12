//! Options of the compiler tier.

use crate::options::pattern::MethodPattern;

/// What the command line says about compiling.
#[derive(Clone, Debug)]
pub struct JitOptions {
    /// Off: `-Xint`.
    pub is_on: bool,
    /// `-Xcomp`: every method at its first call.
    pub compiles_everything: bool,
    /// Calls after which a method is compiled: `-XX:CompileThreshold=`; `-Xcomp`: 1.
    pub call_threshold: i32,
    /// Jumps backwards, in one method, after which its loop is compiled, in percent of the calls:
    /// `-XX:OnStackReplacePercentage=`.
    pub loop_percentage: u32,
    /// Off: whoever finds a method hot waits for its code. `-Xbatch`, `-XX:-BackgroundCompilation`, `-Xcomp`.
    pub is_background: bool,
    /// `-XX:CICompilerCount=`; 0: by the number of CPUs.
    pub threads: usize,
    /// `-XX:ReservedCodeCacheSize=`
    pub cache_bytes: usize,
    /// `-XX:+PrintCompilation`
    pub print: bool,
    /// `-XX:CompileOnly=`, and `compileonly` commands: when not empty, nothing else is compiled.
    pub only: Vec<MethodPattern>,
    /// `-XX:CompileCommand=exclude,...`
    pub excluded: Vec<MethodPattern>,
    /// `-XX:CompileCommand=print,...`: show the code of these, Cranelift's and the machine's.
    pub shown: Vec<MethodPattern>,
    /// `-XX:JitStress=SEED`: some methods are not compiled, others early, in an order that depends on the seed.
    pub stress: Option<u64>,
    /// Off: static final fields are loaded like others. `-XX:-FoldStaticFinals`.
    pub folds_static_finals: bool,
    /// Off: final fields of objects are loaded like others. `-XX:-TrustFinalNonStaticFields`.
    pub trusts_final_fields: bool,
    /// Off: `Math.sin` and its like are `StrictMath`'s, also where they are interpreted. `-XX:-UseLibmIntrinsic`.
    pub uses_libm: bool,
    /// `-XX:+DumpPerfMapAtExit`
    pub dump_perf_map: bool,
}

impl Default for JitOptions {
    fn default() -> Self {
        JitOptions {
            is_on: true,
            compiles_everything: false,
            call_threshold: 1000,
            loop_percentage: 2000,
            is_background: true,
            threads: 0,
            cache_bytes: 240 << 20,
            print: false,
            only: Vec::new(),
            excluded: Vec::new(),
            shown: Vec::new(),
            stress: None,
            folds_static_finals: true,
            trusts_final_fields: true,
            uses_libm: true,
            dump_perf_map: false,
        }
    }
}

impl JitOptions {
    /// `-Xcomp`: everything, at its first call.
    pub fn compile_everything(&mut self) {
        self.is_on = true;
        self.compiles_everything = true;
        self.call_threshold = 1;
        self.is_background = false;
    }

    /// `-XX:CompileCommand=`; what is not understood has no effect.
    pub fn command(&mut self, text: &str) {
        let Some((command, pattern)) = text.split_once([',', ' ']) else { return };
        let patterns = pattern.split(',').filter_map(MethodPattern::parse);
        match command {
            "exclude" => self.excluded.extend(patterns),
            "print" => self.shown.extend(patterns),
            "compileonly" => self.only.extend(patterns),
            _ => (),
        }
    }
}
