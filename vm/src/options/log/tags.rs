//! The tags by which lines are selected.

/// The tags of the lines that this VM writes, as `docs/reference/log-tags.md` explains them.
pub const SETS: &[&str] = &[
    "class,load",
    "class,unload",
    "exceptions",
    "gc",
    "gc,cset",
    "gc,heap",
    "gc,heap,exit",
    "gc,init",
    "gc,metaspace",
    "gc,phases",
    "gc,servers",
    "gc,start",
    "gc,touch",
    "jfr",
    "jfr,dcmd",
    "jfr,event",
    "jfr,metadata",
    "jfr,setting",
    "jfr,start",
    "jfr,startup",
    "jfr,system",
    "jfr,system,bytecode",
    "jfr,system,event",
    "jfr,system,metadata",
    "jfr,system,parser",
    "jfr,system,setting",
    "jfr,system,streaming",
    "jfr,system,throttle",
    "monitorinflation",
    "os,container",
    "safepoint",
    "startuptime",
];

/// Whether HotSpot or this VM has the tag.
pub fn is_known(tag: &str) -> bool {
    let own = || SETS.iter().any(|set| set.split(',').any(|own| own == tag));
    HOTSPOTS.split_ascii_whitespace().any(|known| known == tag) || own()
}

/// The tags of HotSpot 17.
pub const HOTSPOTS: &str = "add age alloc annotation arguments attach barrier biasedlocking blocks bot breakpoint \
    bytecode cds census class classhisto cleanup codecache compaction compilation condy constantpool constraints \
    container coops cpu cset data datacreation dcmd decoder defaultmethods director dump dynamic ergo event exceptions \
    exit fingerprint free freelist gc handshake hashtables heap humongous ihop iklass indy init inlining install \
    interpreter itables jfr jit jni jvmci jvmti lambda library liveness load loader logging malloc map mark marking \
    membername memops metadata metaspace methodcomparator methodhandles mirror mmu module monitorinflation \
    monitormismatch nestmates nmethod nmt normalize numa objecttagging obsolete oldobject oom oopmap oops oopstorage \
    os owner pagesize parser patch path perf periodic phases plab placeholders preorder preview promotion \
    protectiondomain ptrqueue purge record redefine ref refine region reloc remset resolve safepoint sampling scavenge \
    sealed setting smr stackbarrier stackmap stacktrace stackwalk start startup startuptime state stats streaming \
    stringdedup stringtable subclass survivor suspend sweep symboltable system table task thread throttle time timer \
    tlab tracking trimnative unload unshareable update valuebasedclasses verification verify vmmutex vmoperation \
    vmthread vtables vtablestubs workgang";
