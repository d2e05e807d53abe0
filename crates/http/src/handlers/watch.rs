//! GET of a collection with `watch`: a stream of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::Response;
use pawl_meta::Status;
use pawl_registry::{Served, WatchItem, Watcher};
use tokio::time::Instant;

use crate::api::{Api, Call};
use crate::audit::Trail;
use crate::body::Body;
use crate::health::Stopping;
use crate::metrics::{InFlight, Labels};
use crate::negotiation::{Form, Media};
use crate::options::ListOptions;
use crate::render::{IncludeObject, WatchRenderer};
use crate::respond;

/// The media types of streams.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// Nobody watches for longer, whatever they say: times beyond what a clock can tell must not be asked of one.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

pub(crate) async fn answer(api: &Api, served: &Arc<Served>, call: &Call) -> Result<Response<Body>, Status> {
    let accepted = call.accepted;
    if accepted.media == Media::Yaml {
        return Err(Status::not_acceptable(format!("only the following media types are accepted: {STREAMS}")));
    }
    let options = ListOptions::read(call, served, true)?;
    let timeout = match options.timeout_seconds {
        Some(seconds) => Duration::from_secs(seconds),
        // Spread over a while, so that watches do not all come back at once.
        None => api.limits.min_watch_timeout.min(LONGEST).mul_f64(1.0 + fraction()),
    };
    if accepted.form == Form::Table {
        IncludeObject::check(call.query.get("includeObject"))?;
    }
    let include = IncludeObject::parse(call.query.get("includeObject"));
    let renderer = WatchRenderer::new(Arc::clone(served), accepted, include);
    let content_type = renderer.content_type();
    let source = match api.registry.watch(served, options.watch_request()).await {
        Ok(watcher) => Source::Watcher(watcher),
        // A version that is gone is told on the stream.
        Err(status) if status.code == 410 => Source::Error(Some(status)),
        Err(status) => return Err(status),
    };
    let labels = Labels::of(&call.target, &call.info);
    let state = State {
        source,
        renderer,
        ends: Instant::now() + timeout.min(LONGEST),
        stop: api.health.stopping(),
        counter: api.metrics.watch_events(&labels),
        _in_flight: api.metrics.start(&call.info, &labels),
        _trail: call.trail.clone(),
    };
    Ok(respond::with(200, content_type, Body::Stream(Box::pin(stream::unfold(state, next)))))
}

struct State {
    source: Source,
    renderer: WatchRenderer,
    ends: Instant,
    stop: Stopping,
    counter: prometheus::IntCounter,
    _in_flight: InFlight,
    /// The request is complete when the stream is.
    _trail: Option<Arc<Trail>>,
}

enum Source {
    Watcher(Watcher),
    Error(Option<Status>),
}

/// The next piece of the stream; `None` ends it cleanly, at its time or when the server stops.
async fn next(mut state: State) -> Option<(Bytes, State)> {
    let items = match &mut state.source {
        Source::Error(status) => vec![WatchItem::Error(Box::new(status.take()?))],
        Source::Watcher(watcher) => tokio::select! {
            items = watcher.next() => items,
            () = tokio::time::sleep_until(state.ends) => return None,
            () = state.stop.wait() => return None,
        },
    };
    if items.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(1024);
    for item in &items {
        state.renderer.write(&mut out, item);
    }
    state.counter.inc_by(items.len() as u64);
    Some((Bytes::from(out), state))
}

/// A fraction in 0..1 that differs from request to request.
fn fraction() -> f64 {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    f64::from(nanos % 1000) / 1000.0
}
