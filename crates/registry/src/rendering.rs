//! Stored objects as a version shows them whose schema may have changed since they were stored.
//!
//! Owns what is known of an entry beyond its bytes: how it looks under a schema, and whether it was valid under one. Both
//! are worked out when they are needed, kept as long as the entry, and never stored. An entry that was written under the
//! present schema shows the bytes that are stored.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use pawl_kinds::{Behaviour, Forms, Mark};
use pawl_meta::object::Object;
use pawl_seal::Plain;

use crate::entry::{Readable, encode};
use crate::texts::Texts;
use crate::{CacheEntry, Served};

/// Looks of one entry that are kept: as many versions as are read at a time, and the schema of before while it changes.
const KEPT: usize = 4;

/// What is known of an entry.
#[derive(Debug, Default)]
pub struct Notes(ArcSwapOption<Noted>);

#[derive(Clone, Debug, Default)]
struct Noted {
    looks: Vec<Arc<Look>>,
    mark: Option<Mark>,
}

/// How an object looks, rendered in one way.
#[derive(Debug)]
pub struct Look {
    way: u64,
    /// `None`: as it is stored.
    bytes: Option<Arc<Readable>>,
    /// The values of the version's selectable fields, in their order.
    pub(crate) fields: Texts,
}

impl Notes {
    fn look(&self, way: u64) -> Option<Arc<Look>> {
        self.0.load().as_ref()?.looks.iter().find(|look| look.way == way).cloned()
    }

    fn change(&self, edit: impl Fn(&mut Noted)) {
        self.0.rcu(|noted| {
            let mut noted = noted.as_deref().cloned().unwrap_or_default();
            edit(&mut noted);
            Some(Arc::new(noted))
        });
    }

    fn keep(&self, look: &Arc<Look>) {
        self.change(|noted| {
            noted.looks.retain(|other| other.way != look.way);
            if noted.looks.len() >= KEPT {
                noted.looks.remove(0);
            }
            noted.looks.push(Arc::clone(look));
        });
    }

    fn mark(&self) -> Option<Mark> {
        self.0.load().as_ref()?.mark
    }
}

/// A version as who selects by its fields looks at objects.
#[derive(Clone, Debug)]
pub struct View {
    behaviour: Arc<dyn Behaviour>,
    api_version: String,
    /// The names of its selectable fields.
    pub(crate) select: Vec<String>,
}

impl View {
    /// How an object looks in this version.
    pub(crate) fn look(&self, readable: &Readable) -> Option<Arc<Look>> {
        let forms = self.behaviour.forms()?;
        Some(look(forms, forms.rendering()?, &self.api_version, readable))
    }
}

fn look(forms: &dyn Forms, way: u64, api_version: &str, readable: &Readable) -> Arc<Look> {
    if let Some(look) = readable.notes.look(way) {
        return look;
    }
    // What cannot be brought into form is shown as it is.
    let object = forms.convert(readable.object(0), api_version).unwrap_or_else(|| readable.object(0));
    let bytes =
        Readable::cut(Plain::new(encode(&object)), None, &[]).ok().filter(|bytes| bytes.tail() != readable.tail());
    let look = Arc::new(Look { way, bytes: bytes.map(Arc::new), fields: fields(forms, &object) });
    readable.notes.keep(&look);
    look
}

fn fields(forms: &dyn Forms, object: &Object) -> Texts {
    forms.selected(object).iter().map(String::as_str).collect()
}

impl Served {
    /// The forms of the kind, when stored objects must be brought into form to be shown, and how.
    pub(crate) fn renders(&self) -> Option<(&dyn Forms, u64)> {
        let forms = self.resource.behaviour.forms()?;
        Some((forms, forms.rendering()?))
    }

    /// The bytes of a stored object as this version shows them; `None` when they are that already.
    pub(crate) fn rendered(&self, readable: &Readable) -> Option<Arc<Readable>> {
        let (forms, way) = self.renders()?;
        look(forms, way, &self.api_version, readable).bytes.clone()
    }

    /// This version, for who selects by its fields.
    pub(crate) fn view(&self) -> Option<View> {
        self.renders()?;
        Some(View {
            behaviour: Arc::clone(&self.resource.behaviour),
            api_version: self.api_version.clone(),
            select: self.resource.facts.select.clone(),
        })
    }

    /// What is known of an entry that was valid.
    pub(crate) fn mark_of(&self, entry: &CacheEntry) -> Option<Mark> {
        self.renders()?;
        entry.readable()?.notes.mark()
    }

    /// Notes what whoever wrote an entry knows of it: that it is in form, and whether it is valid.
    pub(crate) fn note(&self, entry: &CacheEntry, object: &Object, mark: Option<Mark>) {
        let (Some((forms, way)), Some(readable)) = (self.renders(), entry.readable()) else { return };
        // What was judged in another version is not what comes out of the store.
        if forms.stored() != self.api_version {
            return;
        }
        if forms.is_in_form(object) {
            readable.notes.keep(&Arc::new(Look { way, bytes: None, fields: fields(forms, object) }));
        }
        if mark.is_some() {
            readable.notes.change(|noted| noted.mark = mark);
        }
    }
}
