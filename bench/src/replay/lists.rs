//! Pages in lists, each in at most one.

/// Doubly linked lists of pages, known by number. All operations take constant time.
pub struct Lists {
    /// By page; after the pages, the head of each list.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The list of a page; [`NONE`]: it is in none.
    list: Vec<u8>,
    lengths: Vec<usize>,
}

impl Lists {
    /// `lists` empty lists for `pages` pages.
    pub fn new(pages: usize, lists: usize) -> Lists {
        let itself: Vec<u32> = (0..(pages + lists) as u32).collect();
        let list = vec![NONE; pages];
        Lists { next: itself.clone(), previous: itself, list, lengths: vec![0; lists] }
    }

    /// Is the page in this list?
    pub fn has(&self, list: u8, page: u32) -> bool {
        self.list[page as usize] == list
    }

    /// The list of a page.
    pub fn of(&self, page: u32) -> Option<u8> {
        let list = self.list[page as usize];
        (list != NONE).then_some(list)
    }

    pub fn len(&self, list: u8) -> usize {
        self.lengths[list as usize]
    }

    /// Puts a page at the front of a list; takes it out of the one that it was in.
    pub fn push(&mut self, list: u8, page: u32) {
        self.remove(page);
        let head = self.head(list);
        let first = self.next[head as usize];
        self.next[page as usize] = first;
        self.previous[page as usize] = head;
        self.previous[first as usize] = page;
        self.next[head as usize] = page;
        self.list[page as usize] = list;
        self.lengths[list as usize] += 1;
    }

    /// The page at the back.
    pub fn back(&self, list: u8) -> Option<u32> {
        let head = self.head(list);
        let last = self.previous[head as usize];
        (last != head).then_some(last)
    }

    /// Takes out the page at the back.
    pub fn pop(&mut self, list: u8) -> Option<u32> {
        let last = self.back(list)?;
        self.remove(last);
        Some(last)
    }

    /// Takes a page out, if it is in a list.
    pub fn remove(&mut self, page: u32) {
        let Some(list) = self.of(page) else { return };
        let (next, previous) = (self.next[page as usize], self.previous[page as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        self.list[page as usize] = NONE;
        self.lengths[list as usize] -= 1;
    }

    fn head(&self, list: u8) -> u32 {
        (self.list.len() + list as usize) as u32
    }
}

const NONE: u8 = u8::MAX;
