//! How the models of the pager's state machines are run.

use loom::sync::Arc;
use loom::thread;

/// Runs `body` in every order of its threads' steps that takes at most two preemptions.
pub fn explore(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// Runs `threads` on a model in all these orders, and checks the invariants afterwards.
pub fn explore_together<M: Send + Sync + 'static>(
    model: fn() -> Arc<M>,
    threads: Vec<fn(&M)>,
    check: fn(&M),
) {
    explore(move || {
        let model = model();
        let spawn = |body: &fn(&M)| {
            let (model, body) = (model.clone(), *body);
            thread::spawn(move || body(&model))
        };
        let handles: Vec<_> = threads.iter().map(spawn).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        check(&model);
    });
}
