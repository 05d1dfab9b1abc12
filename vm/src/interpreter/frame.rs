//! Frames of the Java stack.

/// Header of a frame; its locals lie below, its operand stack above.
#[repr(C)]
pub struct Frame {
    pub method: crate::runtime::MethodRef,
    pub previous: *mut Frame,
}

/// Oop maps of one method by bci, computed when a collection first needs them.
#[derive(Default)]
pub struct OopMapsOfMethod {}
