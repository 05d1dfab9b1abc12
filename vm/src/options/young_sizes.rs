//! The sizes of the young generation that options give.

use super::Options;

/// The sizes that were given, where later options win.
#[derive(Clone, Copy, Debug, Default)]
pub struct YoungSizes {
    /// `-Xmn`, `-XX:NewSize`
    pub min_bytes: Option<usize>,
    /// `-Xmn`, `-XX:MaxNewSize`
    pub max_bytes: Option<usize>,
    /// `-XX:NewRatio`: old regions for each young one.
    pub old_to_young: Option<usize>,
}

impl YoungSizes {
    /// Sets what the sizes mean, as parts of the heap, when its largest size is known. As in HotSpot, a size wins over
    /// the ratio, and what it does not fix is moved by it.
    pub fn apply(self, options: &mut Options) {
        let heap = &mut options.heap;
        let percent = |bytes: usize| (bytes as u128 * 100).div_ceil(heap.max_bytes as u128);
        let percent = |bytes: usize| percent(bytes).clamp(1, 100) as usize;
        let (least, most) = match (self.min_bytes, self.max_bytes, self.old_to_young) {
            (None, None, None) => return,
            (None, None, Some(ratio)) => {
                let part = (100 / ratio.saturating_add(1)).max(1);
                (Some(part), Some(part))
            }
            (least, most, _) => (least.map(percent), most.map(percent)),
        };
        if !heap.collector.is_g1() {
            let name = heap.collector.name();
            let message =
                format!("Ignoring the size of the young generation: {name} does not limit it");
            options.warn(message);
            return;
        }
        let g1 = &mut heap.g1;
        if let Some(least) = least {
            g1.young_percent_min = least;
            g1.young_percent_max = g1.young_percent_max.max(least);
        }
        if let Some(most) = most {
            g1.young_percent_max = most;
            g1.young_percent_min = g1.young_percent_min.min(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn young(arguments: &[&str]) -> (usize, usize, usize) {
        let all = [&["-Xmx100m"], arguments].concat();
        let options = Options::parse(&all, false).unwrap();
        let g1 = options.heap.g1;
        (g1.young_percent_min, g1.young_percent_max, options.warnings.len())
    }

    #[test]
    fn the_young_generation_has_the_size_that_is_asked_for() {
        assert_eq!(young(&[]), (5, 60, 0));
        assert_eq!(young(&["-Xmn20m"]), (20, 20, 0));
        assert_eq!(young(&["-XX:NewSize=10m", "-XX:MaxNewSize=30m"]), (10, 30, 0));
        assert_eq!(young(&["-XX:NewSize=80m"]), (80, 80, 0));
        assert_eq!(young(&["-XX:MaxNewSize=1m"]), (1, 1, 0));
        assert_eq!(young(&["-XX:NewRatio=3"]), (25, 25, 0));
        assert_eq!(young(&["-XX:NewRatio=3", "-Xmn1g"]), (100, 100, 0));
        assert_eq!(young(&["-Xmn20m", "-XX:+UseShenandoahGC"]), (5, 60, 1));
    }
}
