//! `gc-bench`: workloads from one manifest, on our VM and on its peers, a fresh process for each measurement.
//!
//! A *run* is one process: a workload at one size on one *contender* (our VM with a collector and a share of local
//! memory, or HotSpot with one of its collectors). Its result is judged by that of an unmeasured run on HotSpot in the
//! same session, and by the hash in the manifest; its measurements become a [`row::Row`], one line of JSON, also if
//! it failed. Tables are made of rows and of nothing else.

pub mod class_path;
pub mod commands;
pub mod compare;
pub mod contender;
pub mod cores;
pub mod counters;
pub mod evidence;
pub mod fault_places;
pub mod hotspot_log;
pub mod local;
pub mod machine;
pub mod manifest;
pub mod noise;
pub mod options;
pub mod plan;
pub mod probe;
pub mod report;
pub mod residency;
pub mod row;
pub mod schedule;
pub mod series;
pub mod session;
pub mod suites;
pub mod table;
pub mod trace;
pub mod utilization;
pub mod watch;
