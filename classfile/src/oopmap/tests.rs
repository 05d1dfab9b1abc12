//! Maps of hand-made code, and of every method of the JDK.

use super::*;
use crate::bytecode::{Instructions, op};
use crate::{ClassFile, CpEntry, ParseOptions, jdk_image};

fn shape<'a>(
    code: &'a [u8],
    handlers: &'a [ExceptionHandler],
    pool: &'a ConstantPool,
    descriptor: &str,
) -> MethodShape<'a> {
    MethodShape {
        bytecode: code,
        exception_table: handlers,
        max_locals: 8,
        max_stack: 8,
        pool,
        descriptor: Symbol::of(descriptor),
        is_static: true,
    }
}

fn references(maps: &MethodOopMaps, shape: &MethodShape, bci: u16, slots: &[u64]) -> Vec<usize> {
    let map = maps.map_at(shape, bci, |index| slots[index]).expect("a map");
    map.references(map.stack_depth()).collect()
}

#[test]
fn arguments_and_wide_values() {
    let pool = ConstantPool::default();
    let code = [op::ALOAD_2, op::LLOAD_0, op::DUP2_X1, op::POP2, op::POP2, op::ARETURN];
    let shape = shape(&code, &[], &pool, "(JLjava/lang/Object;[I)Ljava/lang/Object;");
    let maps = MethodOopMaps::new();
    assert_eq!(references(&maps, &shape, 0, &[]), [2, 3]);
    assert_eq!(references(&maps, &shape, 2, &[]), [2, 3, 8]);
    assert_eq!(references(&maps, &shape, 3, &[]), [2, 3, 10]);
    assert_eq!(references(&maps, &shape, 4, &[]), [2, 3, 10]);
    assert_eq!(references(&maps, &shape, 5, &[]), [2, 3]);
}

#[test]
fn paths_that_disagree() {
    let pool = ConstantPool::default();
    let code = [
        op::ICONST_0,
        op::IFEQ,
        0,
        8,
        op::ACONST_NULL,
        op::ASTORE_1,
        op::GOTO,
        0,
        5,
        op::ICONST_1,
        op::ISTORE_1,
        op::RETURN,
    ];
    let shape = shape(&code, &[], &pool, "(Ljava/lang/Object;)V");
    let maps = MethodOopMaps::new();
    assert_eq!(references(&maps, &shape, 6, &[]), [0, 1]);
    assert_eq!(references(&maps, &shape, 11, &[]), [0]);
}

#[test]
fn handlers_see_every_store() {
    let pool = ConstantPool::default();
    // The range is left with a reference in local 1, but entered with a number.
    let code = [
        op::ICONST_0,
        op::ISTORE_1,
        op::NOP,
        op::ACONST_NULL,
        op::ASTORE_1,
        op::NOP,
        op::RETURN,
        op::POP,
        op::RETURN,
    ];
    let handler = |start_pc| ExceptionHandler { start_pc, end_pc: 6, handler_pc: 7, catch_type: 0 };
    let maps = MethodOopMaps::new();
    let all = [handler(2)];
    assert_eq!(references(&maps, &shape(&code, &all, &pool, "()V"), 7, &[]), [8]);
    let maps = MethodOopMaps::new();
    let last = [handler(5)];
    assert_eq!(references(&maps, &shape(&code, &last, &pool, "()V"), 7, &[]), [1, 8]);
}

#[test]
fn subroutines_keep_callers_apart() {
    let pool = ConstantPool::default();
    let code = [
        op::ACONST_NULL,
        op::ASTORE_0, // 0: local 0 is a reference for the first caller
        op::JSR,
        0,
        12, // 2
        op::ALOAD_0,
        op::POP, // 5
        op::ICONST_0,
        op::ISTORE_0, // 7: and a number for the second
        op::JSR,
        0,
        5,          // 9
        op::RETURN, // 12
        op::NOP,    // 13
        op::ASTORE_1,
        op::NOP,
        op::RET,
        1, // 14
    ];
    let shape = shape(&code, &[], &pool, "()V");
    let maps = MethodOopMaps::new();
    assert_eq!(references(&maps, &shape, 15, &[0, 5]), [0]);
    assert_eq!(references(&maps, &shape, 15, &[0, 12]), [0usize; 0]);
    assert_eq!(references(&maps, &shape, 5, &[]), [0]);
    let unreached = maps.map_at(&shape, 13, |_| 0).unwrap_err();
    assert_eq!(unreached.reason, "never reached");
}

#[test]
fn call_arguments_are_counted() {
    let entries = vec![
        CpEntry::Unusable,
        CpEntry::Methodref { class_index: 0, name_and_type_index: 2 },
        CpEntry::NameAndType { name: Symbol::of("m"), descriptor: Symbol::of("(IJ[I)D") },
    ];
    let pool = ConstantPool::new(entries);
    let code = [
        op::ALOAD_0,
        op::ALOAD_0,
        op::ICONST_0,
        op::LCONST_0,
        op::ACONST_NULL,
        op::INVOKEVIRTUAL,
        0,
        1,
        op::POP2,
        op::ARETURN,
    ];
    let shape = shape(&code, &[], &pool, "(Ljava/lang/Object;)Ljava/lang/Object;");
    let maps = MethodOopMaps::new();
    let map = maps.map_at(&shape, 5, |_| 0).unwrap();
    assert_eq!((map.stack_depth(), map.argument_slots()), (6, 5));
    assert_eq!(map.references(1).collect::<Vec<_>>(), [0, 8]);
    assert_eq!(map.references(6).collect::<Vec<_>>(), [0, 8, 9, 13]);
}

#[test]
fn malformed_code_is_an_error() {
    let pool = ConstantPool::default();
    for code in [
        &[op::POP][..],
        &[op::GOTO, 0, 1],
        &[op::NOP],
        &[op::RET, 0],
        &[op::ALOAD, 200],
        &[op::SIPUSH, 0],
        &[op::ISTORE_0],
        &[op::INVOKESTATIC, 0, 9],
        &[op::DUP_X2],
        &[254],
        &[op::ICONST_0, op::GOTO, 0xff, 0xff],
    ] {
        let shape = shape(code, &[], &pool, "()V");
        assert!(MethodOopMaps::new().map_at(&shape, 60000, |_| 0).is_err(), "{code:?}");
    }
}

#[test]
fn every_method_of_the_jdk_has_maps() {
    let Some(image) = jdk_image::open() else { return };
    let mut found = 0;
    jdk_image::for_each_class(&image, |module, name, bytes| {
        if module != "java.base" {
            return;
        }
        let class = ClassFile::parse(bytes, &ParseOptions::default()).expect("a good class");
        for method in &class.methods {
            let Some(code) = &method.code else { continue };
            let shape = MethodShape {
                bytecode: &code.bytecode,
                exception_table: &code.exception_table,
                max_locals: code.max_locals,
                max_stack: code.max_stack,
                pool: &class.constant_pool,
                descriptor: method.descriptor,
                is_static: method.is_static(),
            };
            let maps = MethodOopMaps::new();
            // Each answer replays its block, and some blocks are very long.
            let stride = 1 + code.bytecode.len() / 400;
            for instruction in Instructions::new(&code.bytecode).step_by(stride) {
                let bci = instruction.expect("legal").bci as u16;
                match maps.map_at(&shape, bci, |_| 0) {
                    Ok(_) => found += 1,
                    Err(no) => panic!("{name}.{}{}: {no}", method.name, method.descriptor),
                }
            }
        }
    });
    assert!(found > 500_000, "only {found} instructions");
}
