pub fn visit_in_use(
    _vm: &crate::machine::Vm,
    _visit: &mut dyn FnMut(gc::object::layout::HolderId),
) {
}
