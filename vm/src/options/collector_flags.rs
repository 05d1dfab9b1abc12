//! `-XX` options of the collectors that this VM has and HotSpot does not: parameters, and a switch for each mechanism.

use super::BadOption;
use super::xx::{Flag, Value};
use gc::options::{ENTRY_BUFFER, MakoOptions, MemLinerOptions, SemeruOptions};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Mako's parameters and off switches, but for the table's. False: it is another option.
pub(super) fn mako(flag: &Flag<'_>, mako: &mut MakoOptions) -> Result<bool, BadOption> {
    let number = |range| within(flag, flag.number()?, range);
    let micros = || Ok::<_, BadOption>(Duration::from_micros(number(1..=1_000_000)? as u64));
    match (flag.name, flag.value) {
        (_, Value::On | Value::Off) => {
            let switch = match flag.name {
                "MakoWriteThrough" => &mut mako.write_through,
                "MakoOffloadTracing" => &mut mako.offload_tracing,
                "MakoOffloadEvacuation" => &mut mako.offload_evacuation,
                "MakoTraceOrder" => &mut mako.trace_order,
                "MakoEntryPreload" => &mut mako.entry_preload,
                "MakoCopyAhead" => &mut mako.copy_ahead,
                "MakoBringBack" => &mut mako.bring_back,
                "MakoFollowEntries" => &mut mako.follow_entries,
                "MakoTouchedApart" => &mut mako.touched_apart,
                _ => return Ok(false),
            };
            *switch = matches!(flag.value, Value::On);
        }
        ("MakoEntryBufferSize", Value::Text(_)) => mako.entry_buffer = number(ENTRY_BUFFER)?,
        ("MakoSATBBufferSize", Value::Text(_)) => mako.satb_buffer = number(1..=1 << 20)?,
        ("MakoGhostBufferSize", Value::Text(_)) => mako.ghost_buffer = number(1..=1 << 20)?,
        ("MakoPollingPeriod", Value::Text(_)) => mako.polling_period = micros()?,
        ("MakoPollingPeriodMax", Value::Text(_)) => mako.polling_period_max = micros()?,
        ("MakoLiveThreshold", Value::Text(_)) => mako.live_percent = number(0..=100)?,
        ("MakoJumpsPerPage", Value::Text(_)) => mako.jumps_per_page = number(0..=1 << 20)?,
        ("MakoUnorderedLiveThreshold", Value::Text(_)) => {
            mako.unordered_live_percent = number(0..=100)?;
        }
        ("MakoFaultsPerCycle", Value::Text(_)) => mako.faults_per_cycle = number(0..=1 << 20)?,
        ("MakoTouchFaults", Value::Text(_)) => mako.touch_faults = number(0..=1 << 20)?,
        ("MakoTouchWaits", Value::Text(_)) => mako.touch_wait_percent = number(0..=100_000)?,
        ("MakoTouchWindow", Value::Text(_)) => mako.touch_window = number(0..=1 << 20)?,
        ("MakoPacingMaxDelay", Value::Text(_)) => {
            mako.pacing_delay_max = Duration::from_millis(number(0..=10_000)? as u64);
        }
        ("MakoGroupRegions", Value::Text(_)) => mako.group_regions = number(1..=1 << 16)?,
        ("MakoAwayTablets", Value::Text(_)) => mako.away_tablets = number(0..=1 << 20)?,
        ("MakoMinFreeThreshold", Value::Text(_)) => mako.min_free_percent = number(0..=100)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Semeru's, beside those that it has in common with G1. False: it is another option.
pub(super) fn semeru(flag: &Flag<'_>, semeru: &mut SemeruOptions) -> Result<bool, BadOption> {
    match (flag.name, flag.value) {
        ("SemeruOffloadTracing", Value::On | Value::Off) => {
            semeru.offload_tracing = matches!(flag.value, Value::On);
        }
        ("SemeruTracingGrowthPercent", Value::Text(_)) => {
            semeru.growth_percent = flag.number()?.min(100);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// MemLiner's parameters and off switches. False: it is another option.
pub(super) fn memliner(flag: &Flag<'_>, memliner: &mut MemLinerOptions) -> Result<bool, BadOption> {
    let is_on = matches!(flag.value, Value::On);
    let within = |number, least, most| within(flag, number, least..=most);
    let count = || Ok::<u8, BadOption>(within(flag.number()?, 0, 255)? as u8);
    match (flag.name, flag.value) {
        ("MemLinerQueue", Value::On | Value::Off) => memliner.queue = is_on,
        ("MemLinerQueueLength", Value::Text(_)) => {
            memliner.queue_length = within(flag.number()?, 1, 1 << 20)?;
        }
        ("MemLinerOverwrite", Value::On | Value::Off) => memliner.overwrite = is_on,
        ("MemLinerExploreRemote", Value::On | Value::Off) => memliner.explore_remote = is_on,
        ("MemLinerMaxDepth", Value::Text(_)) => memliner.depth_max = count()?,
        ("MemLinerMaxWidth", Value::Text(_)) => {
            memliner.width_max = within(flag.number()?, 0, 1 << 30)?;
        }
        ("MemLinerPushBack", Value::On | Value::Off) => memliner.push_back = is_on,
        ("MemLinerTwoPhaseEvacuation", Value::On | Value::Off) => {
            memliner.two_phase_evacuation = is_on;
        }
        ("MemLinerMaxDL", Value::Text(text)) => {
            memliner.delays_max = text.parse().map_err(BadOption)?;
        }
        ("MemLinerYellowDL", Value::Text(_)) => memliner.yellow_delays = count()?,
        ("MemLinerGreenDL", Value::Text(_)) => memliner.green_delays = count()?,
        ("MemLinerRedZone", Value::Text(_)) => {
            memliner.red_percent = within(flag.number()?, 0, 100)?;
        }
        ("MemLinerYellowZone", Value::Text(_)) => {
            memliner.yellow_percent = within(flag.number()?, 0, 100)?;
        }
        ("MemLinerEstimator", Value::Text(text)) => {
            memliner.estimator = text.parse().map_err(BadOption)?;
        }
        ("MemLinerEpochBits", Value::Text(_)) => {
            memliner.epoch_bits = within(flag.number()?, 1, 8)? as u8;
        }
        ("MemLinerEpochs", Value::Text(_)) => memliner.epochs_max = u64::from(count()?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn within(
    flag: &Flag<'_>,
    number: usize,
    range: RangeInclusive<usize>,
) -> Result<usize, BadOption> {
    let (least, most) = (range.start(), range.end());
    match range.contains(&number) {
        true => Ok(number),
        false => Err(BadOption(format!("{} must be {least} to {most}", flag.name))),
    }
}
