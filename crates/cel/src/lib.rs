//! A typed, costed engine for the Common Expression Language.
