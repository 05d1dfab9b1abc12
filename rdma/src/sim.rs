//! A seeded network inside one process, for tests: the same traits, with delay, reordering between channels,
//! duplicates and death decided by the seed.
