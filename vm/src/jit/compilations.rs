//! Which compilations are in progress.
//!
//! Compiler threads do not stop for pauses, and hold plain pointers to classes and methods that they have come across.
//! So when some of these die, they are freed only when all compilations have ended that had begun by then; later ones
//! do not find them any more.

/// The compilations of one VM, numbered in the order in which they begin.
#[derive(Default)]
pub struct Compilations {
    begun: u64,
    /// In progress. A few at most.
    running: Vec<u64>,
}

/// A moment: what was found by compilations that had begun by then may be freed when they have all ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket(u64);

impl Compilations {
    /// Another one begins: its number.
    pub fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.running.push(self.begun);
        self.begun
    }

    /// It holds no pointers any more.
    pub fn end(&mut self, number: u64) {
        let place = self.running.iter().position(|running| *running == number);
        self.running.swap_remove(place.expect("a compilation ends once"));
    }

    pub fn in_progress(&self) -> usize {
        self.running.len()
    }

    /// Now.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.begun)
    }

    /// Whether all have ended that had begun when the ticket was taken.
    pub fn is_past(&self, ticket: Ticket) -> bool {
        self.running.iter().all(|running| *running > ticket.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Compilations;

    #[test]
    fn only_compilations_from_before_hold_a_ticket_back() {
        let mut compilations = Compilations::default();
        let at_first = compilations.ticket();
        assert!(compilations.is_past(at_first));
        let (a, b) = (compilations.begin(), compilations.begin());
        assert!(compilations.is_past(at_first));
        let ticket = compilations.ticket();
        let c = compilations.begin();
        compilations.end(a);
        assert!(!compilations.is_past(ticket));
        compilations.end(b);
        assert!(compilations.is_past(ticket) && compilations.in_progress() == 1);
        assert!(!compilations.is_past(compilations.ticket()));
        compilations.end(c);
        assert!(compilations.is_past(compilations.ticket()));
    }
}
