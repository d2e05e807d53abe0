//! Events of core/v1, which are stored, and of events.k8s.io/v1: the same under other names.

use serde_json::{Map, Value};

use super::{fit, rename};

/// Fields by their names in core/v1 and in events.k8s.io/v1.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("message", "note"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Selectable fields of events.k8s.io/v1 and what they are stored as.
pub(super) const SELECTABLE: &[(&str, &str)] = &[
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reportingController", "reportingComponent"),
];

pub(super) fn to_core(mut event: Map<String, Value>) -> Map<String, Value> {
    rename(&mut event, NAMES.iter().map(|(core, events)| (*events, *core)));
    series(&mut event, "core.v1.EventSeries");
    fit("core.v1.Event", &mut event);
    event
}

pub(super) fn to_events(mut event: Map<String, Value>) -> Map<String, Value> {
    rename(&mut event, NAMES.iter().copied());
    series(&mut event, "events.v1.EventSeries");
    fit("events.v1.Event", &mut event);
    event
}

fn series(event: &mut Map<String, Value>, type_name: &str) {
    if let Some(Value::Object(series)) = event.get_mut("series") {
        fit(type_name, series);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::convert::forms;

    #[test]
    fn an_event_goes_there_and_back() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"}, "reason": "R", "message": "m", "source": {},
            "firstTimestamp": null, "lastTimestamp": null, "type": "Normal", "eventTime": null,
            "reportingComponent": "", "reportingInstance": "", "series": {"lastObservedTime": null},
        });
        let forms = forms("core.v1.Event").unwrap();
        let events = forms.convert(core.as_object().unwrap().clone(), "events.k8s.io/v1").unwrap();
        assert_eq!(
            json!(events),
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
                "regarding": {"kind": "Pod", "name": "p"}, "reason": "R", "note": "m", "deprecatedSource": {},
                "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null, "type": "Normal",
                "eventTime": null, "series": {"count": 0, "lastObservedTime": null},
            })
        );
        assert_eq!(json!(forms.convert(events, "v1").unwrap()), core);
        assert_eq!(forms.stored_field("regarding.kind"), "involvedObject.kind");
    }
}
