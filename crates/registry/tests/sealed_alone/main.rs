//! What the registry does while the service is gone whose keys seal every value.
#![allow(dead_code, reason = "a part of the suite has its own tools")]
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

#[path = "../behaviour/defined.rs"]
mod defined;
#[path = "../behaviour/faults.rs"]
mod faults;
#[path = "../behaviour/faulty.rs"]
mod faulty;
#[path = "../behaviour/forms.rs"]
mod forms;
#[path = "../behaviour/history.rs"]
mod history;
#[path = "../behaviour/pods.rs"]
mod pods;
#[path = "../behaviour/services.rs"]
mod services;
#[path = "../behaviour/stage.rs"]
mod stage;

const KEYS: stage::Keys = stage::Keys::Gone;
