//! The secret that a VM and its memory servers share.
//!
//! It never travels: each side proves that it has it by a keyed hash (HMAC-SHA256) of the nonces
//! that both just made up (`tcp/handshake.rs`). An eavesdropper that records a handshake can try
//! guesses against it, so a token should be random: `head -c 32 /dev/urandom | base64 > token`.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::RdmaError;

/// A shared secret; [`Token::none`] where none is needed. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// Reads a token file. Refuses one that others than its owner may touch, and a token of less than
    /// 16 bytes. A line's end behind the token does not belong to it.
    ///
    /// The group of a file that root owns may read it: service managers and clusters hand secrets to
    /// processes without privileges in this way.
    pub fn read(path: &Path) -> Result<Token, RdmaError> {
        let failed = |reason: String| RdmaError::Token { path: path.into(), reason };
        let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let meta = file.metadata().map_err(|error| failed(error.to_string()))?;
        if !meta.is_file() {
            return Err(failed("not a regular file".into()));
        }
        let forbidden = if meta.uid() == 0 { 0o037 } else { 0o077 };
        if meta.mode() & forbidden != 0 {
            return Err(failed("other users may read or change it; use chmod 600".into()));
        }
        let mut bytes = Vec::new();
        let limit = TOKEN_BYTES_MAX as u64 + 1;
        let read = file.by_ref().take(limit).read_to_end(&mut bytes);
        read.map_err(|error| failed(error.to_string()))?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        match bytes.len() {
            TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX => Ok(Token(bytes)),
            length => Err(failed(format!(
                "a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} bytes, this one has {length}"
            ))),
        }
    }

    /// 32 random bytes.
    pub fn random() -> Result<Token, RdmaError> {
        Ok(Token::from(random()?))
    }

    /// No secret: every process has it.
    pub fn none() -> Token {
        Token(Vec::new())
    }

    /// Whether this is [`Token::none`].
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The keyed hash of some byte strings; their borders count.
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> [u8; HASH_BYTES] {
        self.keyed(parts).finalize().into_bytes().into()
    }

    /// Whether `hash` is that of `parts`, in a time that does not depend on where they differ.
    pub(crate) fn verify(&self, parts: &[&[u8]], hash: &[u8; HASH_BYTES]) -> bool {
        self.keyed(parts).verify_slice(hash).is_ok()
    }

    fn keyed(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key may have any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl From<[u8; HASH_BYTES]> for Token {
    fn from(bytes: [u8; HASH_BYTES]) -> Token {
        Token(bytes.to_vec())
    }
}

/// One that another process of the same user sent; empty is [`Token::none`].
impl From<Vec<u8>> for Token {
    fn from(bytes: Vec<u8>) -> Token {
        Token(bytes)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "no token" } else { "a token" })
    }
}

/// Unguessable bytes, from the kernel.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], RdmaError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| RdmaError::Os {
        what: "reading random bytes",
        source: io::Error::other(error.to_string()),
    })?;
    Ok(bytes)
}

/// Bytes of a keyed hash, and of keys made by this crate.
pub(crate) const HASH_BYTES: usize = 32;
const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn token_files_are_read_and_careless_ones_are_refused() {
        let file = TokenFile::new("sixteen-bytes-16\n", 0o600);
        assert_eq!(Token::read(&file.0).unwrap(), Token(b"sixteen-bytes-16".to_vec()));
        let windows = TokenFile::new("sixteen-bytes-16\r\n", 0o400);
        assert_eq!(Token::read(&windows.0).unwrap(), Token(b"sixteen-bytes-16".to_vec()));
        for (text, mode, complaint) in [
            ("sixteen-bytes-16", 0o660, "chmod"),
            ("sixteen-bytes-16", 0o604, "chmod"),
            ("fifteen-bytes-1\n", 0o600, "16 to 4096"),
            (&"x".repeat(5000), 0o600, "16 to 4096"),
        ] {
            let file = TokenFile::new(text, mode);
            let error = Token::read(&file.0).unwrap_err();
            assert!(matches!(error, RdmaError::Token { .. }), "{error}");
            assert!(error.to_string().contains(complaint), "{error}");
        }
        assert!(Token::read(Path::new("/nonexistent")).is_err());
        assert!(Token::read(Path::new("/")).is_err());
    }

    #[test]
    fn the_group_reads_only_what_root_owns() {
        let file = TokenFile::new("sixteen-bytes-16", 0o440);
        let owned_by_root = fs::metadata(&file.0).unwrap().uid() == 0;
        assert_eq!(Token::read(&file.0).is_ok(), owned_by_root);
        if owned_by_root {
            std::os::unix::fs::chown(&file.0, Some(65534), None).unwrap();
            assert!(Token::read(&file.0).unwrap_err().to_string().contains("chmod"));
        }
    }

    #[test]
    fn hashes_depend_on_the_key_and_on_the_borders_of_the_parts() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        let hash = one.hash(&[b"ab", b"c"]);
        assert!(one.verify(&[b"ab", b"c"], &hash));
        assert!(!one.verify(&[b"a", b"bc"], &hash) && !other.verify(&[b"ab", b"c"], &hash));
        assert!(!format!("{one:?}").contains(|c: char| c.is_ascii_digit()), "kept secret");
    }

    struct TokenFile(PathBuf);

    impl TokenFile {
        fn new(text: &str, mode: u32) -> TokenFile {
            let number = u64::from_le_bytes(random().unwrap());
            let path = std::env::temp_dir().join(format!("farheap-token-{number:x}"));
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            TokenFile(path)
        }
    }

    impl Drop for TokenFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }
}
