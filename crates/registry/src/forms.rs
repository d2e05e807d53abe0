//! Kinds whose versions have different shapes: stored in one form, read and written in whichever a request speaks.
//!
//! Bodies, patches and ownership of fields are in the request's form. Preparation and validation are in the form in which
//! objects are judged: the stored one for built-in kinds, the request's for those that users defined, each version of which
//! has a schema of its own. For kinds of one form all of this is nothing.

use std::borrow::Cow;
use std::sync::Arc;

use pawl_apply::{Shape, Typed, Versions};
use pawl_kinds::Forms;
use pawl_meta::GroupVersion;
use pawl_meta::object::Object;
use pawl_seal::Plain;
use serde_json::Value;

use crate::entry::{Readable, Selection};
use crate::patch::is_former_version;
use crate::{Served, encode};

/// The forms of a kind, as apply looks at them.
impl Versions for Served {
    fn shape(&self, api_version: &str) -> Shape<'_> {
        match self.resource.behaviour.forms().map(|forms| forms.type_of(api_version)) {
            Some(Some(of)) => Shape::Other(Typed::new(of)),
            Some(None) => Shape::Gone,
            // What nothing leads to from here says nothing about this object.
            None if self.is_version(api_version) => Shape::Same,
            None => Shape::Gone,
        }
    }

    fn convert(&self, object: &Object, api_version: &str) -> Option<Object> {
        self.resource.behaviour.forms()?.convert(object.clone(), api_version)
    }
}

impl Served {
    /// Whether an apiVersion is one of the kind's, served today or once.
    fn is_version(&self, api_version: &str) -> bool {
        api_version == self.api_version
            || GroupVersion::parse(api_version)
                .is_some_and(|given| is_former_version(&given, &self.resource.group_version()))
    }

    /// The forms of the kind, when what is served here is not what is stored.
    pub(crate) fn converts(&self) -> Option<&dyn Forms> {
        let differs = |forms: &&dyn Forms| forms.rendering().is_some() || forms.stored() != self.api_version;
        self.resource.behaviour.forms().filter(differs)
    }

    /// A stored object in the form of this version.
    pub(crate) fn to_served<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        let converted = self.converts().and_then(|forms| forms.convert(object.clone(), &self.api_version));
        converted.map_or(Cow::Borrowed(object), Cow::Owned)
    }

    /// An object of this version in the form in which it is judged.
    pub(crate) fn to_judged(&self, object: Object) -> Object {
        match self.converts() {
            Some(forms) if forms.rendering().is_none() => forms.convert(object, forms.stored()).unwrap_or_default(),
            _ => object,
        }
    }

    /// Of a stored object and what this version shows of it, the one that is in the form in which it is judged.
    pub(crate) fn judged<'o>(&self, stored: &'o Object, shown: &'o Object) -> &'o Object {
        if self.renders().is_some() { shown } else { stored }
    }

    /// An object as it was judged, in the form in which it is stored.
    pub(crate) fn judged_to_stored<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        let converted = self
            .renders()
            .filter(|(forms, _)| forms.stored() != self.api_version)
            .and_then(|(forms, _)| forms.convert(object.clone(), forms.stored()));
        converted.map_or(Cow::Borrowed(object), Cow::Owned)
    }

    /// An object of any version of the kind in the form of this one.
    pub(crate) fn in_this_form(&self, object: Object) -> Object {
        match self.resource.behaviour.forms() {
            Some(_) if object.get("apiVersion").and_then(Value::as_str) == Some(&self.api_version) => object,
            Some(forms) => forms.convert(object, &self.api_version).unwrap_or_default(),
            None => object,
        }
    }

    /// Fills in what follows from the object's other form: there and back again.
    pub(crate) fn settle_form(&self, object: &mut Object) {
        if self.converts().is_some_and(|forms| forms.rendering().is_none()) {
            *object = self.to_served(&self.to_judged(std::mem::take(object))).into_owned();
        }
    }

    /// The object of an entry in the form of this version.
    pub fn object_of(&self, readable: &Readable, revision: pawl_kv::Revision) -> Object {
        match self.rendered(readable) {
            Some(rendered) => rendered.object(revision),
            None if self.renders().is_some() => {
                let mut object = readable.object(revision);
                object.insert("apiVersion".to_owned(), self.api_version.as_str().into());
                object
            }
            None => self.to_served(&readable.object(revision)).into_owned(),
        }
    }

    /// The object of an entry in the form in which its kind looks at it.
    pub fn judged_object(&self, readable: &Readable, revision: pawl_kv::Revision) -> Object {
        if self.renders().is_some() { self.object_of(readable, revision) } else { readable.object(revision) }
    }

    /// The bytes of a stored object in the form of this version; `None` when they are that already.
    pub fn bytes_of(&self, readable: &Readable) -> Option<Arc<Readable>> {
        if self.converts()?.rendering().is_some() {
            return self.rendered(readable);
        }
        Readable::cut(Plain::new(encode(&self.object_of(readable, 0))), None, &[]).ok().map(Arc::new)
    }

    /// A selection by this version's names of fields, by those of the stored form.
    pub(crate) fn stored_selection(&self, mut selection: Selection) -> Selection {
        if selection.fields.is_empty() {
            return selection;
        }
        selection.view = self.view();
        if let Some(forms) = self.converts().filter(|forms| forms.rendering().is_none()) {
            for requirement in &mut selection.fields.requirements {
                requirement.field = forms.stored_field(&requirement.field).to_owned();
            }
        }
        selection
    }
}
