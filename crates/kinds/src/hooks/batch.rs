//! What rules cannot say about Job and CronJob. One file per concern below; `batch.rules` finds everything here by name.

mod cron;
mod job;
mod job_status;

pub use cron::{cron_job_name, cron_schedule, cron_time_zone};
pub use job::*;
pub use job_status::{job_status_changes, job_uncounted_pods};
