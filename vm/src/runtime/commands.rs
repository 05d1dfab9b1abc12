//! Commands that options ask for when something has gone wrong: `-XX:OnOutOfMemoryError`, `-XX:OnError`.

use std::ffi::CString;
use std::ptr;

/// The commands of one option, ready to run from a signal handler.
#[derive(Debug)]
pub struct Commands {
    /// The line that names the option.
    title: String,
    /// Each with the line that announces it.
    commands: Vec<(String, CString)>,
}

impl Commands {
    /// Commands are separated by `;`. In each, `%p` is the process id and `%%` a percent sign. The option may have
    /// been given several times.
    pub fn new(option: &str, given: &[String]) -> Commands {
        let given = given.join("\n");
        let commands = given.split(';').map(str::trim).filter(|command| !command.is_empty());
        let ready = |command: &str| {
            let command = expand(command);
            // Arguments are C strings.
            let text = CString::new(command.replace('\0', "")).expect("there is no NUL");
            (format!("#   Executing /bin/sh -c \"{command}\"...\n"), text)
        };
        let commands = commands.map(ready).collect();
        Commands { title: format!("# -XX:{option}=\"{given}\"\n"), commands }
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Runs the commands one after the other, each in a shell, and announces them on stdout, as `java` does. Waits for
    /// their ends, which may never come. Any thread, outside of the managed state; async-signal-safe.
    pub fn run(&self) {
        if self.is_empty() {
            return;
        }
        write_out(&self.title);
        for (line, command) in &self.commands {
            write_out(line);
            run_in_shell(command);
        }
    }
}

/// As `java` replaces `%p` (the process id) and `%%`.
pub fn expand(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.as_bytes().first() {
            Some(b'p') => out += &std::process::id().to_string(),
            Some(b'%') => out.push('%'),
            _ => {
                out.push('%');
                continue;
            }
        }
        rest = &rest[1..];
    }
    out + rest
}

fn write_out(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the slice is valid for its length.
        let written = unsafe { libc::write(1, rest.as_ptr().cast(), rest.len()) };
        let Some(written) = usize::try_from(written).ok().filter(|written| *written > 0) else {
            return;
        };
        rest = &rest[written..];
    }
}

/// Nothing is allocated and no lock of this process is taken: the caller may be a signal handler.
fn run_in_shell(command: &CString) {
    let words = [c"sh".as_ptr(), c"-c".as_ptr(), command.as_ptr(), ptr::null()];
    // SAFETY: the attributes are initialised before they are used; paths and arguments are C strings that end with a
    // null pointer. The signals that a handler has blocked are open in the child.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::posix_spawnattr_t>();
        let mut open = std::mem::zeroed::<libc::sigset_t>();
        let mut child = 0;
        if libc::posix_spawnattr_init(&mut attributes) != 0 {
            return;
        }
        libc::sigemptyset(&mut open);
        libc::posix_spawnattr_setsigmask(&mut attributes, &open);
        let flags = libc::POSIX_SPAWN_SETSIGMASK as libc::c_short;
        libc::posix_spawnattr_setflags(&mut attributes, flags);
        let failed = libc::posix_spawn(
            &mut child,
            c"/bin/sh".as_ptr(),
            ptr::null(),
            &attributes,
            words.as_ptr().cast(),
            environ,
        );
        libc::posix_spawnattr_destroy(&mut attributes);
        if failed != 0 {
            write_out("#   it cannot be started\n");
            return;
        }
        while libc::waitpid(child, ptr::null_mut(), 0) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
    }
}

unsafe extern "C" {
    /// The variables of this process.
    static environ: *const *mut libc::c_char;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_apart_and_expanded() {
        let texts = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|text| text.to_string()).collect();
            let commands = Commands::new("OnError", &given);
            assert_eq!(commands.is_empty(), commands.commands.is_empty());
            let text = |(_, command): &(String, CString)| command.to_str().unwrap().to_string();
            commands.commands.iter().map(text).collect::<Vec<_>>()
        };
        let pid = std::process::id();
        assert_eq!(
            texts(&["kill %p; echo %%p 5% ;;"]),
            [format!("kill {pid}"), "echo %p 5%".into()]
        );
        assert_eq!(texts(&["a;b", "c"]), ["a", "b\nc"]);
        assert!(texts(&[]).is_empty() && texts(&[" ; "]).is_empty());
    }

    #[test]
    fn they_run_one_after_the_other() {
        let file = std::env::temp_dir().join(format!("commands-{}", std::process::id()));
        let shown = file.display();
        let given = format!("sleep 0.1 && echo 1 >{shown}; echo $((1 + 1)) >>{shown}");
        Commands::new("OnError", &[given]).run();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\n");
        std::fs::remove_file(&file).unwrap();
    }
}
