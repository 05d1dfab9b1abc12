//! Sizes of the heap and of its parts that options give, each relative to others.

use super::{BadOption, Options};

/// The sizes that were given, bytes, where later options win.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// `-Xms`
    pub initial: Option<usize>,
    /// `-Xmn`, `-XX:NewSize`
    pub young_min: Option<usize>,
    /// `-Xmn`, `-XX:MaxNewSize`
    pub young_max: Option<usize>,
    /// `-XX:NewRatio`: old regions for each young one.
    pub old_to_young: Option<usize>,
}

impl Sizes {
    /// Sets what the sizes mean for the heap, when its largest size is known.
    pub fn apply(self, options: &mut Options) -> Result<(), BadOption> {
        let during = "Error occurred during initialization of VM\n";
        let heap = &mut options.heap;
        if heap.max_bytes < HEAP_BYTES_MIN {
            return Err(BadOption(format!("{during}Too small maximum heap")));
        }
        match self.initial {
            Some(initial) if initial > heap.max_bytes => {
                return Err(BadOption(format!(
                    "{during}Initial heap size set to a larger value than the maximum heap size"
                )));
            }
            Some(initial) => heap.initial_bytes = initial,
            None => heap.initial_bytes = heap.initial_bytes.min(heap.max_bytes),
        }
        self.apply_young(options);
        Ok(())
    }

    /// The young generation, as parts of the heap. As in HotSpot, a size wins over the ratio, and what it does not fix
    /// is moved by it.
    fn apply_young(self, options: &mut Options) {
        let heap = &mut options.heap;
        let percent = |bytes: usize| (bytes as u128 * 100).div_ceil(heap.max_bytes as u128);
        let percent = |bytes: usize| percent(bytes).clamp(1, 100) as usize;
        let (least, most) = match (self.young_min, self.young_max, self.old_to_young) {
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

const HEAP_BYTES_MIN: usize = 2 << 20;

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
