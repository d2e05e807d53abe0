//! Kinds whose versions have different shapes: stored in one form, read and written in whichever a request speaks.
//!
//! Bodies, patches and ownership of fields are in the request's form; preparation, validation and the store in the stored
//! one. For every other kind all of this is nothing.

use std::borrow::Cow;

use pawl_apply::{Shape, Typed, Versions};
use pawl_kinds::Forms;
use pawl_meta::object::Object;
use pawl_seal::Plain;

use crate::entry::{Readable, Selection};
use crate::{Served, encode};

/// The forms of a kind, as apply looks at them.
impl Versions for Served {
    fn shape(&self, api_version: &str) -> Shape<'_> {
        match self.resource.behaviour.forms().map(|forms| forms.type_of(api_version)) {
            Some(Some(of)) => Shape::Other(Typed::new(of)),
            Some(None) => Shape::Gone,
            None => Shape::Same,
        }
    }

    fn convert(&self, object: &Object, api_version: &str) -> Option<Object> {
        self.resource.behaviour.forms()?.convert(object.clone(), api_version)
    }
}

impl Served {
    /// The forms of the kind, when the one that is served here is not the stored one.
    pub(crate) fn converts(&self) -> Option<&dyn Forms> {
        self.resource.behaviour.forms().filter(|forms| forms.stored() != self.api_version)
    }

    /// A stored object in the form of this version.
    pub(crate) fn to_served<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        let converted = self.converts().and_then(|forms| forms.convert(object.clone(), &self.api_version));
        converted.map_or(Cow::Borrowed(object), Cow::Owned)
    }

    /// An object of this version in the form in which it is stored.
    pub(crate) fn to_stored(&self, object: Object) -> Object {
        match self.converts() {
            Some(forms) => forms.convert(object, forms.stored()).unwrap_or_default(),
            None => object,
        }
    }

    /// An object of any version of the kind in the form of this one.
    pub(crate) fn in_this_form(&self, object: Object) -> Object {
        match self.resource.behaviour.forms() {
            Some(forms) => forms.convert(object, &self.api_version).unwrap_or_default(),
            None => object,
        }
    }

    /// Fills in what follows from the object's other form: there and back again.
    pub(crate) fn settle_form(&self, object: &mut Object) {
        if self.converts().is_some() {
            *object = self.to_served(&self.to_stored(std::mem::take(object))).into_owned();
        }
    }

    /// The object of an entry in the form of this version.
    pub fn object_of(&self, readable: &Readable, revision: pawl_kv::Revision) -> Object {
        self.to_served(&readable.object(revision)).into_owned()
    }

    /// The bytes of a stored object in the form of this version; `None` when they are that already.
    pub fn bytes_of(&self, readable: &Readable) -> Option<Readable> {
        self.converts()?;
        Readable::cut(Plain::new(encode(&self.object_of(readable, 0))), None, &[]).ok()
    }

    /// A selection by this version's names of fields, by those of the stored form.
    pub(crate) fn stored_selection(&self, mut selection: Selection) -> Selection {
        if let Some(forms) = self.converts() {
            for requirement in &mut selection.fields.requirements {
                requirement.field = forms.stored_field(&requirement.field).to_owned();
            }
        }
        selection
    }
}
