//! What an expression may use: functions, types, variables, and the rules of the house.

use crate::cost::CostModel;
use crate::decl::{DeclType, ObjectTypes};
use crate::function::Functions;
use crate::syntax::ParserOptions;
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// Functions and rules, shared by many environments.
#[derive(Debug, Clone, Default)]
pub struct Library {
    /// The functions.
    pub functions: Functions,
    /// Names that stand for types.
    pub type_names: HashMap<Arc<str>, Type>,
    /// The syntax.
    pub syntax: ParserOptions,
    /// Whether the checker takes elements of several types in a literal list or map for a mistake.
    pub homogeneous_literals: bool,
    /// Whether `1 < 1.5` compares.
    pub cross_type_comparison: bool,
    /// Whether literals are tried at once: arguments of `matches`, `duration`, `timestamp` and `format`,
    /// and whether the elements of a list or map are of one type. Unlike above, a list of several types
    /// may then be the argument of `format`.
    pub literal_checks: bool,
    /// What calls cost beyond what the language says.
    pub cost: CostModel,
    /// Whether `has()` costs as much as a selection.
    pub presence_test_costs: bool,
}

/// A library with variables.
#[derive(Debug, Clone)]
pub struct Env {
    pub(crate) library: Arc<Library>,
    pub(crate) container: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) objects: ObjectTypes,
    pub(crate) sizes: Option<Arc<DeclType>>,
}

/// A declared variable.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
}

impl Env {
    /// An environment without variables.
    pub fn new(library: Arc<Library>) -> Env {
        Env { library, container: String::new(), variables: Vec::new(), objects: ObjectTypes::default(), sizes: None }
    }

    /// Resolves names inside this namespace first.
    pub fn in_container(mut self, container: impl Into<String>) -> Env {
        self.container = container.into();
        self
    }

    /// Declares a variable.
    pub fn with_variable(mut self, name: impl Into<Arc<str>>, ty: Type) -> Env {
        self.variables.push(Variable { name: name.into(), ty });
        self
    }

    /// Declares a variable that holds declared data.
    pub fn with_data(mut self, name: impl Into<Arc<str>>, decl: &DeclType) -> Env {
        self.objects.add(decl);
        self.with_variable(name, decl.static_type())
    }

    /// Takes the sizes of data from this type, whichever variable a path starts from.
    pub fn with_sizes(mut self, root: Arc<DeclType>) -> Env {
        self.sizes = Some(root);
        self
    }

    /// The syntax that expressions in this environment are written in.
    pub fn syntax(&self) -> ParserOptions {
        self.library.syntax
    }

    /// The names that `name` may mean, the most specific first.
    pub(crate) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_prefix('.') {
            return vec![absolute.to_owned()];
        }
        let mut names = Vec::with_capacity(1);
        let mut container = self.container.as_str();
        while !container.is_empty() {
            names.push(format!("{container}.{name}"));
            container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        names.push(name.to_owned());
        names
    }

    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Variable)> {
        self.variables.iter().enumerate().rfind(|(_, variable)| *variable.name == *name)
    }
}
