//! Fair shares: a function of numbers.

/// The bounds and the demand of a member, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    pub least: usize,
    pub most: usize,
    pub demand: usize,
}

/// The shares of a pool of `pages` pages, in order of the claims; their sum is not above it, unless that of the least
/// is.
pub fn fair_shares(pages: usize, claims: &[Claim]) -> Vec<usize> {
    let demand = |claim: &Claim| claim.demand.clamp(claim.least, claim.most);
    let demanded: usize = claims.iter().map(demand).sum();
    let bounds = claims.iter().map(|claim| match demanded > pages {
        true => (claim.least, demand(claim)),
        // All demands are met; the rest is shared too.
        false => (demand(claim), claim.most),
    });
    level(pages, &bounds.collect::<Vec<_>>())
}

/// An equal share for each, within its bounds, with a sum of at most `pages`.
fn level(pages: usize, bounds: &[(usize, usize)]) -> Vec<usize> {
    let at = |level: usize| bounds.iter().map(move |(low, high)| level.clamp(*low, *high));
    // The highest level that fits is in low..high.
    let (mut low, mut high) = (0, pages + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match at(middle).sum::<usize>() <= pages {
            true => low = middle,
            false => high = middle,
        }
    }
    at(low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn shares(pages: usize, demands: &[usize]) -> Vec<usize> {
        let claim = |demand: &usize| Claim { least: 10, most: 1000, demand: *demand };
        fair_shares(pages, &demands.iter().map(claim).collect::<Vec<_>>())
    }

    #[test]
    fn who_needs_less_leaves_the_rest_to_others() {
        assert_eq!(shares(900, &[1000, 1000, 1000]), [300, 300, 300]);
        assert_eq!(shares(900, &[100, 1000, 1000]), [100, 400, 400]);
        assert_eq!(shares(900, &[100, 250, 1000]), [100, 250, 550]);
        assert_eq!(shares(900, &[0, 0, 1000]), [10, 10, 880]);
        assert_eq!(shares(900, &[900]), [900]);
    }

    #[test]
    fn what_nobody_demands_is_shared_too() {
        assert_eq!(shares(900, &[100, 200]), [450, 450]);
        assert_eq!(shares(900, &[100, 600]), [300, 600]);
        assert_eq!(shares(5000, &[100, 600]), [1000, 1000]);
    }

    /// The definition: a share below its demand is at most one page less than any other that is above its least.
    #[test]
    fn shares_are_max_min_fair_whatever_the_claims() {
        let mut random = StdRng::seed_from_u64(7);
        for _ in 0..20_000 {
            let members = random.random_range(1..8);
            let claims: Vec<Claim> = (0..members)
                .map(|_| {
                    let least = random.random_range(0..50);
                    let most = least + random.random_range(0..500);
                    Claim { least, most, demand: random.random_range(0..600) }
                })
                .collect();
            let least: usize = claims.iter().map(|claim| claim.least).sum();
            let pages = least + random.random_range(0..2000);
            let shares = fair_shares(pages, &claims);
            let context = format!("{pages} {claims:?} {shares:?}");
            let sum: usize = shares.iter().sum();
            assert!(sum <= pages, "{context}");
            let most: usize = claims.iter().map(|claim| claim.most).sum();
            assert!(sum + members > pages.min(most), "nothing lies idle: {context}");
            for (claim, share) in claims.iter().zip(&shares) {
                assert!((claim.least..=claim.most).contains(share), "{context}");
                if *share >= claim.demand.min(claim.most) {
                    continue;
                }
                for (other, theirs) in claims.iter().zip(&shares) {
                    assert!(*theirs <= other.least.max(*share), "{context}");
                }
            }
        }
    }
}
