//! What is measured of every request. A request is looked up once, by everything that it is counted by.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};

use super::{RESOURCE, added};

/// What a request is counted by.
#[derive(Clone, Copy, Hash, PartialEq)]
pub(super) struct Request<'r> {
    pub labels: [&'r str; 5],
    pub verb: &'static str,
    pub dry_run: &'static str,
    pub code: u16,
}

/// What is noted of requests that are counted by the same.
pub(super) struct Series {
    labels: [Box<str>; 5],
    verb: &'static str,
    dry_run: &'static str,
    code: u16,
    pub count: IntCounter,
    pub duration: Histogram,
    /// How long they took without what was not up to the server: webhooks, once some are called.
    pub indicator: Histogram,
    /// How large the answers were, where something was read.
    pub sizes: Option<Histogram>,
}

impl Series {
    fn is_of(&self, request: &Request<'_>) -> bool {
        let labels = self.labels.each_ref().map(|label| &**label);
        *request == Request { labels, verb: self.verb, dry_run: self.dry_run, code: self.code }
    }
}

pub(super) struct Requests {
    count: IntCounterVec,
    duration: HistogramVec,
    indicator: HistogramVec,
    sizes: HistogramVec,
    /// By the hash of what they are counted by: there are as many as were ever asked for of what is served.
    known: RwLock<HashMap<u64, Arc<Series>>>,
    hasher: RandomState,
}

const COMPONENT: &str = "apiserver";

impl Requests {
    pub fn register(registry: &Registry) -> Self {
        let labels = |more: &[&'static str]| [&RESOURCE[..], more].concat();
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            added(registry, HistogramVec::new(options, labels))
        };
        let count = "Requests by verb, dry run, resource, scope, component and code.";
        let count = Opts::new("apiserver_request_total", count);
        let longer = [
            0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0,
            60.0,
        ];
        let seconds = [&[0.001, 0.005, 0.025][..], &longer].concat();
        Self {
            count: added(registry, IntCounterVec::new(count, &labels(&["verb", "dry_run", "component", "code"]))),
            duration: histogram(
                "apiserver_request_duration_seconds",
                "How long requests took.",
                &seconds,
                &labels(&["verb", "dry_run", "component"]),
            ),
            indicator: histogram(
                "apiserver_request_sli_duration_seconds",
                "How long requests took, without what webhooks took; dry runs do not count.",
                &longer,
                &labels(&["verb", "component"]),
            ),
            sizes: histogram(
                "apiserver_response_sizes",
                "How large answers to reads are, in bytes.",
                &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9],
                &labels(&["verb", "component"]),
            ),
            known: RwLock::default(),
            hasher: RandomState::new(),
        }
    }

    pub fn of(&self, request: &Request<'_>) -> Arc<Series> {
        let hash = self.hasher.hash_one(request);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&hash).map(Arc::clone);
        if let Some(series) = known.filter(|series| series.is_of(request)) {
            return series;
        }
        let series = Arc::new(self.look_up(request));
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(hash, Arc::clone(&series));
        series
    }

    fn look_up(&self, request: &Request<'_>) -> Series {
        let Request { labels, verb, dry_run, code } = *request;
        let with = |more: &[&str]| [&labels[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (timed, plain) = (with(&[verb, dry_run, COMPONENT]), with(&[verb, COMPONENT]));
        let counted = with(&[verb, dry_run, COMPONENT, &code.to_string()]);
        Series {
            labels: labels.map(Box::from),
            verb,
            dry_run,
            code,
            count: self.count.with_label_values(&counted),
            duration: self.duration.with_label_values(&timed),
            indicator: self.indicator.with_label_values(&plain),
            sizes: matches!(verb, "GET" | "LIST").then(|| self.sizes.with_label_values(&plain)),
        }
    }
}
