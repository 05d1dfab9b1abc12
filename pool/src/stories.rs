//! Crashes of a client and of its recoverer, for tests that tell a story with each of them.

use crate::crash::Crash;
use crate::pool::torture::Random;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a story came to, and the points that client and recoverer passed.
pub(crate) type Told = (Result<(), String>, [Vec<Crash>; 2]);

/// The stories of a test so far.
#[derive(Default)]
pub(crate) struct Stories {
    pub wrong: Vec<String>,
    /// The points at which a crash of the client came, and those of the recoverer.
    pub covered: [BTreeSet<&'static str>; 2],
    /// Pairs of crashes.
    pub count: usize,
}

impl Stories {
    /// Tells the story with all crashes of the client, each with one of its recoverer that `seed` chooses. With `near`,
    /// only with crashes there, but each with all of its recoverer. Ends with the first client for which one is wrong.
    pub fn tell(
        &mut self,
        plot: impl Debug,
        seed: u64,
        near: Option<fn(&Crash) -> bool>,
        story: impl Fn(Option<Crash>, Option<Crash>) -> Told,
    ) {
        let (end, [first, _]) = story(None, None);
        self.wrong.extend(end.err().map(|e| format!("{plot:?}: {e}")));
        let mut random = Random(seed);
        for client in first.into_iter().filter(|crash| near.is_none_or(|near| near(crash))) {
            let choose = |mut second: Vec<Crash>| match near {
                Some(near) => {
                    second.retain(near);
                    second
                }
                None => vec![second[random.below(second.len() as u64) as usize]],
            };
            self.tell_with(&plot, client, choose, &story);
            if !self.wrong.is_empty() {
                return;
            }
        }
    }

    /// Tells the story with the wanted crashes of the client, each with all the wanted ones of its recoverer.
    pub fn tell_wanted(
        &mut self,
        plot: impl Debug,
        wanted: [&dyn Fn(&'static str) -> bool; 2],
        story: impl Fn(Option<Crash>, Option<Crash>) -> Told,
    ) {
        let [mut first, _] = story(None, None).1;
        first.retain(|crash| wanted[0](crash.point));
        for client in first {
            let choose = |mut second: Vec<Crash>| {
                second.retain(|crash| wanted[1](crash.point));
                second
            };
            self.tell_with(&plot, client, choose, &story);
        }
    }

    fn tell_with(
        &mut self,
        plot: &impl Debug,
        client: Crash,
        choose: impl FnOnce(Vec<Crash>) -> Vec<Crash>,
        story: &impl Fn(Option<Crash>, Option<Crash>) -> Told,
    ) {
        let (end, [_, second]) = story(Some(client), None);
        self.wrong.extend(end.err().map(|e| format!("{plot:?} {client:?}: {e}")));
        self.covered[0].insert(client.point);
        for recoverer in choose(second) {
            let (end, _) = story(Some(client), Some(recoverer));
            let wrong = |e| format!("{plot:?} {client:?} {recoverer:?}: {e}");
            self.wrong.extend(end.err().map(wrong));
            self.covered[1].insert(recoverer.point);
            self.count += 1;
        }
    }
}

/// Whether the stories of one of 30 seeds fail. Some mistakes end in a panic.
pub(crate) fn one_fails(tell: impl Fn(&mut Stories, u64)) -> bool {
    (0..30).any(|seed| {
        let told = catch_unwind(AssertUnwindSafe(|| {
            let mut stories = Stories::default();
            tell(&mut stories, seed);
            println!("{:?}", stories.wrong);
            !stories.wrong.is_empty()
        }));
        told.unwrap_or(true)
    })
}
