//! The ways of a body back into the interpreter.
//!
//! There are many, and most are never taken. So what they describe is packed into lists that all share: two bytes for
//! each local and operand.

use super::safepoints::index_of;
use crate::runtime::MethodRef;
use std::sync::atomic::AtomicU32;

/// A way back into the interpreter. The code stores live values, as 64-bit words, to an area of its frame, and calls
/// [`exit`](crate::jit::exit) with the addresses of this and of the area.
pub struct SideExit {
    pub reason: Reason,
    /// Index of the first frame, and how many there are.
    first: u32,
    count: u16,
    /// How often it was taken.
    pub taken: AtomicU32,
}

/// Why compiled code cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The instruction at the innermost bci is to be executed again, by the interpreter, with the operands given: it
    /// will throw (null, index, division, cast, array store).
    Exception,
    /// As `Exception`: a constant is not resolved yet, or a class not initialized. Compiling again later pays.
    Unresolved,
    /// As `Exception`: the instruction is not compiled at all.
    Unsupported,
    /// As `Exception`, but the instruction will not throw: it jumps back in a loop, and the code is not its method's
    /// any more.
    Replaced,
    /// An exception is pending: the callee of the innermost frame's instruction threw it. The operands are popped
    /// already.
    Pending,
}

/// Those of one body. Code has the addresses of the exits, which stay where they are.
pub struct SideExits {
    exits: Box<[SideExit]>,
    frames: Box<[Packed]>,
    words: Box<[u16]>,
    constants: Box<[u64]>,
    methods: Box<[MethodRef]>,
}

/// The words of a frame are, in this order: the method's lock, if any; locals; stack; locks.
struct Packed {
    method: u16,
    bci: u16,
    words: u32,
    locals: u16,
    stack: u16,
    locks: u16,
    has_method_lock: bool,
}

/// State of one interpreter frame, before it is packed.
pub struct NewFrame {
    pub method: MethodRef,
    pub bci: u16,
    /// Up to `max_locals` of them; the rest are dead.
    pub locals: Vec<Word>,
    /// Operand stack in slots: longs and doubles have a dead second slot.
    pub stack: Vec<Word>,
    /// Objects locked by `monitorenter`, outermost first.
    pub locks: Vec<Word>,
    /// The object that a synchronized method has locked and must unlock.
    pub method_lock: Option<Word>,
}

/// State of one interpreter frame. See [`NewFrame`].
#[derive(Clone, Copy)]
pub struct ExitFrame<'b> {
    table: &'b SideExits,
    packed: &'b Packed,
}

/// The source of a word of an exit frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Never read.
    Dead,
    /// Word of the exit area. Ints count with their lower half.
    Area(u16),
    Constant(u64),
}

/// Collects the exits of a body.
#[derive(Default)]
pub struct NewSideExits {
    exits: Vec<SideExit>,
    frames: Vec<Packed>,
    words: Vec<u16>,
    constants: Vec<u64>,
    methods: Vec<MethodRef>,
    is_full: bool,
}

impl NewSideExits {
    /// Adds one with these frames: outermost first, as on the Java stack. Frames but the last are at a call, whose
    /// arguments are popped already. Its index.
    pub fn add(&mut self, reason: Reason, frames: Vec<NewFrame>) -> usize {
        let first = self.frames.len() as u32;
        let count = frames.len() as u16;
        for mut frame in frames {
            let live = frame.locals.iter().rposition(|word| *word != Word::Dead);
            frame.locals.truncate(live.map_or(0, |last| last + 1));
            self.is_full |= u32::try_from(self.words.len()).is_err();
            let words = self.words.len() as u32;
            let packed = Packed {
                method: index_of(&mut self.methods, frame.method),
                bci: frame.bci,
                words,
                locals: frame.locals.len() as u16,
                stack: frame.stack.len() as u16,
                locks: frame.locks.len() as u16,
                has_method_lock: frame.method_lock.is_some(),
            };
            let lists = [frame.method_lock.as_slice(), &frame.locals, &frame.stack, &frame.locks];
            for word in lists.into_iter().flatten() {
                let word = self.packed(*word);
                self.words.push(word);
            }
            self.frames.push(packed);
        }
        self.exits.push(SideExit { reason, first, count, taken: AtomicU32::new(0) });
        self.exits.len() - 1
    }

    fn packed(&mut self, word: Word) -> u16 {
        let index = match word {
            Word::Dead => return DEAD,
            Word::Area(index) => index as usize,
            Word::Constant(bits) => {
                let known = self.constants.iter().rposition(|known| *known == bits);
                known.unwrap_or_else(|| {
                    self.constants.push(bits);
                    self.constants.len() - 1
                })
            }
        };
        self.is_full |= index >= CONSTANT as usize - 1;
        index as u16 & !CONSTANT | if matches!(word, Word::Constant(_)) { CONSTANT } else { 0 }
    }

    /// Packs them. `None`: they have more values or constants than a word can name.
    pub fn pack(self) -> Option<SideExits> {
        (!self.is_full).then(|| SideExits {
            exits: self.exits.into(),
            frames: self.frames.into(),
            words: self.words.into(),
            constants: self.constants.into(),
            methods: self.methods.into(),
        })
    }
}

impl SideExits {
    /// The address of an exit, for code. It stays when the exits move into the body.
    pub fn address(&self, index: usize) -> *const SideExit {
        &raw const self.exits[index]
    }

    /// The frames of one of these exits: outermost first.
    pub fn frames<'b>(
        &'b self,
        exit: &SideExit,
    ) -> impl DoubleEndedIterator<Item = ExitFrame<'b>> + use<'b> {
        let is_ours = self.exits.as_ptr_range().contains(&std::ptr::from_ref(exit));
        debug_assert!(is_ours, "an exit of another body");
        let first = exit.first as usize;
        let frames = &self.frames[first..first + exit.count as usize];
        frames.iter().map(move |packed| ExitFrame { table: self, packed })
    }

    /// All methods of which an exit has a frame.
    pub fn methods(&self) -> &[MethodRef] {
        &self.methods
    }

    fn word(&self, packed: u16) -> Word {
        match packed {
            DEAD => Word::Dead,
            _ if packed & CONSTANT != 0 => {
                Word::Constant(self.constants[(packed & !CONSTANT) as usize])
            }
            _ => Word::Area(packed),
        }
    }
}

impl<'b> ExitFrame<'b> {
    pub fn method(self) -> MethodRef {
        self.table.methods[self.packed.method as usize]
    }

    pub fn bci(self) -> u16 {
        self.packed.bci
    }

    pub fn method_lock(self) -> Option<Word> {
        self.packed.has_method_lock.then(|| self.table.word(self.table.words[self.start()]))
    }

    pub fn locals(self) -> impl ExactSizeIterator<Item = Word> + use<'b> {
        self.words(self.first_local(), self.packed.locals)
    }

    pub fn stack(self) -> impl ExactSizeIterator<Item = Word> + use<'b> {
        self.words(self.first_local() + self.packed.locals as usize, self.packed.stack)
    }

    pub fn locks(self) -> impl ExactSizeIterator<Item = Word> + use<'b> {
        let before = self.packed.locals as usize + self.packed.stack as usize;
        self.words(self.first_local() + before, self.packed.locks)
    }

    fn start(self) -> usize {
        self.packed.words as usize
    }

    fn first_local(self) -> usize {
        self.start() + usize::from(self.packed.has_method_lock)
    }

    fn words(self, first: usize, count: u16) -> impl ExactSizeIterator<Item = Word> + use<'b> {
        let table = self.table;
        table.words[first..first + count as usize].iter().map(move |word| table.word(*word))
    }
}

/// Words with this bit are indices of constants, others of the area.
const CONSTANT: u16 = 1 << 15;
const DEAD: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unpacked_as_they_were() {
        let mut new = NewSideExits::default();
        let words = [
            Word::Dead,
            Word::Area(0),
            Word::Area(0x7ffe),
            Word::Constant(0),
            Word::Constant(u64::MAX),
            Word::Constant(0),
        ];
        let packed = words.map(|word| new.packed(word));
        assert_eq!(new.constants, [0, u64::MAX]);
        let exits = new.pack().expect("few words");
        assert_eq!(packed.map(|word| exits.word(word)), words);
    }

    #[test]
    fn more_words_than_have_numbers_are_refused() {
        let mut new = NewSideExits::default();
        new.packed(Word::Area(0x7fff));
        assert!(new.pack().is_none());
        let mut new = NewSideExits::default();
        (0..=0x7fff).for_each(|bits| _ = new.packed(Word::Constant(bits)));
        assert!(new.pack().is_none());
    }
}
