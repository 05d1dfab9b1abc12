//! Making classes from bytes (JVMS 5.3.5).

use crate::runtime::{Handle, JResult, JavaThread, KlassRef, LoaderData};
use crate::symbol::Symbol;

/// What a definer may ask for.
#[derive(Default)]
pub struct DefineOptions {
    /// The name that the class must have; anything when `None`.
    pub expected_name: Option<Symbol>,
    pub protection_domain: Option<Handle>,
    pub source: Option<String>,
    /// `Lookup.defineHiddenClass`.
    pub hidden: Option<HiddenOptions>,
}

pub struct HiddenOptions {
    /// The lookup class.
    pub host: KlassRef,
    pub is_nestmate: bool,
    pub class_data: Option<Handle>,
}

/// Parses and defines a class with its supertypes; the class is loaded, not linked.
pub fn define_class(
    _t: &JavaThread,
    _loader: &'static LoaderData,
    _bytes: &[u8],
    _options: DefineOptions,
) -> JResult<KlassRef> {
    panic!("define_class")
}
