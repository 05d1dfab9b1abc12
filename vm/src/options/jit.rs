//! Options of the compiler tier.

use crate::options::pattern::MethodPattern;
use base::options;

options! {
    /// The command line's options for compiling.
    #[derive(Clone, Debug)]
    pub struct JitOptions, "compiler" {
        /// Compile hot methods. Otherwise only interpret them, as with -Xint.
        pub is_on: bool as Switch = true, "UseCompiler", Product;
        /// Calls after which a method is compiled. -Xcomp: 1.
        pub call_threshold: i32 as Count = 1000, "CompileThreshold" in 0..=1 << 30, Product;
        /// Backward jumps in one method after which its loop is compiled, as a percentage of CompileThreshold.
        pub loop_percentage: u32 as Percent = 2000, "OnStackReplacePercentage" in 0..=1 << 30, Product;
        /// Compile while the program runs. Otherwise a thread that finds a method hot waits for its code, as with
        /// -Xbatch and -Xcomp.
        pub is_background: bool as Switch = true, "BackgroundCompilation", Product;
        /// Compiler threads. 0: by the number of CPUs.
        pub threads: usize as Count = 0, "CICompilerCount" in 0..=64, Product;
        /// Memory for compiled code.
        pub cache_bytes: usize as Size = 240 << 20, "ReservedCodeCacheSize", Product;
        /// Print what is compiled.
        pub print: bool as Switch = false, "PrintCompilation", Product;
        /// Compile quickly at first, and what is called often once more, better. Otherwise everything at once well.
        pub is_tiered: bool as Switch = true, "TieredCompilation", Product;
        /// Up to 3: code stays as it was compiled at first. 0: nothing is compiled.
        pub stop_at_level: u32 as Count = 4, "TieredStopAtLevel" in 0..=4, Product;
        /// Calls of quickly compiled code after which a method is compiled once more. In long loops eight rounds count
        /// as a call.
        pub second_threshold: i32 as Count = 5000, "Tier4InvocationThreshold" in 0..=0x7fff_ffff, Product;
        /// Compiled code contains the small methods that it calls. Otherwise it calls them.
        pub inlines: bool as Switch = true, "Inline", Product;
        /// Bytes of bytecode up to which a method is inlined. Where hot code is compiled once more, hot methods may
        /// have 90.
        pub inline_size: usize as Count = 35, "C1MaxInlineSize" in 0..=0x7fff_ffff, Product;
        /// Depth down to which calls are inlined.
        pub inline_level: usize as Count = 9, "C1MaxInlineLevel" in 0..=0x7fff_ffff, Product;
        /// Times that a method is inlined into itself.
        pub recursive_inline_level: usize as Count = 1, "C1MaxRecursiveInlineLevel" in 0..=0x7fff_ffff, Product;
        /// Compile at random moments, and leave some methods out: both depend on this seed.
        pub stress: Option<u64> as OrNone of Count = None, "JitStress", Debug;
        /// Static final fields are constants in compiled code.
        pub folds_static_finals: bool as Switch = true, "FoldStaticFinals", Ablation;
        /// Compiled code reads final fields of objects once.
        pub trusts_final_fields: bool as Switch = true, "TrustFinalNonStaticFields", Ablation;
        /// Math.sin and similar functions are those of the C library. Otherwise they are StrictMath's.
        pub uses_libm: bool as Switch = true, "UseLibmIntrinsic", Product;
        /// Math.fma is one instruction or the C library's function. Otherwise it is the class library's, by BigDecimal.
        pub uses_fma: bool as Switch = true, "UseFMA", Product;
        /// Compiled code computes CRC32 by vector instructions. Otherwise the JDK's native library does.
        pub uses_crc32: bool as Switch = true, "UseCRC32Intrinsics", Product;
        /// Compiled code computes CRC32C by machine instructions. Otherwise the class library does.
        pub uses_crc32c: bool as Switch = true, "UseCRC32CIntrinsics", Product;
        /// Compiled code computes MD5 by a function of the VM. Otherwise the class library does.
        pub uses_md5: bool as Switch = true, "UseMD5Intrinsics", Product;
        /// The same of SHA-1 and SHA-2: off if the three options for them are, which are off if this is.
        pub uses_sha: bool as Switch = true, "UseSHA", Product;
        /// The same of SHA-1.
        pub uses_sha1: bool as Switch = true, "UseSHA1Intrinsics", Product;
        /// The same of SHA-224 and SHA-256.
        pub uses_sha256: bool as Switch = true, "UseSHA256Intrinsics", Product;
        /// The same of SHA-384 and SHA-512.
        pub uses_sha512: bool as Switch = true, "UseSHA512Intrinsics", Product;
        /// Compiled code has the methods that method handles have called inlined. Otherwise it calls them.
        pub inlines_method_handles: bool as Switch = true, "InlineMethodHandles", Ablation;
        /// Write the names of compiled methods for perf when the program ends.
        pub dump_perf_map: bool as Switch = false, "DumpPerfMapAtExit", Product;
    } with {
        /// `-Xcomp`: every method at its first call.
        pub compiles_everything: bool = false;
        /// `-XX:CompileOnly=`, and `compileonly` commands: when not empty, nothing else is compiled.
        pub only: Vec<MethodPattern> = Vec::new();
        /// `-XX:CompileCommand=exclude,...`
        pub excluded: Vec<MethodPattern> = Vec::new();
        /// `-XX:CompileCommand=inline,...`: inlined wherever the compiler can.
        pub inlined: Vec<MethodPattern> = Vec::new();
        /// `-XX:CompileCommand=dontinline,...`: never inlined, also if `inlined` has them.
        pub not_inlined: Vec<MethodPattern> = Vec::new();
        /// `-XX:CompileCommand=print,...`: show the code of these, Cranelift's and the machine's.
        pub shown: Vec<MethodPattern> = Vec::new();
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

    /// Whether anything is compiled.
    pub fn compiles(&self) -> bool {
        self.is_on && self.stop_at_level > 0
    }

    /// Whether code that was compiled quickly counts its calls, to be compiled once more.
    pub fn has_second_tier(&self) -> bool {
        self.is_tiered && self.stop_at_level > LAST_QUICK_LEVEL
    }

    /// `-XX:CompileCommand=`. False: HotSpot has such a command, and this VM does not. An error is the text to print.
    pub fn command(&mut self, text: &str) -> Result<bool, String> {
        let (command, pattern) = text.split_once([',', ' ']).unwrap_or((text, ""));
        let patterns = pattern.split(',').filter_map(MethodPattern::parse);
        match command {
            "exclude" => self.excluded.extend(patterns),
            "print" => self.shown.extend(patterns),
            "compileonly" => self.only.extend(patterns),
            "inline" => self.inlined.extend(patterns),
            "dontinline" => self.not_inlined.extend(patterns),
            // Commands are never announced.
            "quiet" => (),
            "help" | "log" | "blackhole" | "break" | "option" => return Ok(false),
            // Options of HotSpot's compilers that commands set for single methods.
            _ if command.starts_with(|c: char| c.is_ascii_uppercase()) => return Ok(false),
            _ => {
                return Err(format!(
                    "CompileCommand: An error occurred during parsing\n\
                     Error: Unrecognized option '{command}'\nLine: '{text}'"
                ));
            }
        }
        Ok(true)
    }
}

/// The highest of HotSpot's levels whose code its first compiler makes.
const LAST_QUICK_LEVEL: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_say_what_is_inlined() {
        let mut options = JitOptions::default();
        assert_eq!(options.command("inline,a/B.c"), Ok(true));
        assert_eq!(options.command("dontinline a.*::d"), Ok(true));
        let matches = |patterns: &[MethodPattern], class: &[u8], name: &[u8]| {
            patterns.iter().any(|pattern| pattern.matches(class, name))
        };
        assert!(
            matches(&options.inlined, b"a/B", b"c") && !matches(&options.inlined, b"a/B", b"d")
        );
        assert!(matches(&options.not_inlined, b"a/C", b"d"));
        assert_eq!(options.command("blackhole,a.B::c"), Ok(false));
        assert!(options.command("foo,a.B::c").is_err());
    }
}
