//! Exceptions that nobody caught.

use crate::loading::strings;
use crate::machine::JavaThread;
use crate::runtime::Throw;
use classfile::symbol::Symbol;

/// Takes the pending exception and prints it with its stack trace, as the launcher's last resort does.
pub fn print(t: &JavaThread, thrown: Throw) {
    let _scope = t.scope();
    let throwable = t.root(t.take_pending(thrown));
    let klass = t.klass_of(throwable.get());
    // A thread that was stopped dies quietly.
    if klass.name.bytes() == b"java/lang/ThreadDeath" {
        return;
    }
    base::say_part(format_args!(
        "Exception in thread \"{}\" ",
        strings::name_of_thread(t, t.thread_object.get())
    ));
    let print = klass.find_method(Symbol::of("printStackTrace"), Symbol::of("()V"));
    let print = print.expect("Throwable.printStackTrace exists");
    let receiver = [throwable.get().address() as u64];
    if let Err(thrown) = t.call(print, &receiver) {
        t.take_pending(thrown);
        base::say(format_args!("{}", klass.java_name()));
    }
}
