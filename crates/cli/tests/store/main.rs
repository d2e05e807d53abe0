//! What is stored stays: kills, faults, snapshots, the past.

mod crash;
mod faults;
mod first_release;
mod history;
mod snapshots;
