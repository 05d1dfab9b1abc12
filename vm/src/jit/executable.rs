//! Machine code in memory of its own, apart from the code cache: for code that is made once and never freed by the
//! sweeper.

use super::translate::{isa, links};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;

/// Code that can be executed as long as this lives.
pub struct Executable {
    memory: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: code does not change after it was made.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Compiles the function of a context, which names functions by [`links`] only. Panics if it is not valid, or there
    /// is no memory for it.
    pub fn compile(context: &mut Context) -> Executable {
        let done = context.compile(&*isa::host(), &mut ControlPlane::default());
        done.expect("barriers are valid code");
        let compiled = context.compiled_code().expect("it is compiled");
        let code = links::link(&context.func, compiled);
        Executable::new(&code.expect("barriers name functions by their addresses"))
    }

    /// A copy of code that can lie anywhere.
    fn new(code: &[u8]) -> Executable {
        // SAFETY: a fresh mapping, which no other thread knows before it can be executed and not written.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                code.len(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert!(memory != libc::MAP_FAILED, "no memory for {} bytes of code", code.len());
            std::ptr::copy_nonoverlapping(code.as_ptr(), memory.cast(), code.len());
            let done = libc::mprotect(memory, code.len(), libc::PROT_READ | libc::PROT_EXEC);
            assert_eq!(done, 0, "memory cannot be made executable");
            Executable { memory, bytes: code.len() }
        }
    }

    pub fn address(&self) -> usize {
        self.memory as usize
    }

    pub fn code(&self) -> &[u8] {
        // SAFETY: mapped as long as `self` lives, and never written again.
        unsafe { std::slice::from_raw_parts(self.memory.cast(), self.bytes) }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: our mapping; the threads that run the code keep `self` alive.
        unsafe { libc::munmap(self.memory, self.bytes) };
    }
}
