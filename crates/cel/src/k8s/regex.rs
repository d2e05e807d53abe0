//! Finding by regular expression.

use crate::env::Library;
use crate::function::{Overload, Run};
use crate::library::{int, text};
use crate::types::Type;
use crate::value::Val;

/// Adds `find` and `findAll`.
pub fn add(library: &mut Library) {
    use Type::{Int, String};
    let f = &mut library.functions;
    let strings = Type::list(String);
    let find = Run::Regex(|regex, args| {
        let found = regex.find(text(args, 0)?).map_or("", |found| found.as_str());
        Ok(Val::string(found.to_owned()))
    });
    f.add("find", Overload::new("string_find_string", true, &[String, String], String, find));
    let all = Run::Regex(|regex, args| Ok(find_all(regex, text(args, 0)?, -1)));
    f.add("findAll", Overload::new("string_find_all_string", true, &[String, String], strings.clone(), all));
    let some = Run::Regex(|regex, args| Ok(find_all(regex, text(args, 0)?, int(args, 2)?)));
    f.add("findAll", Overload::new("string_find_all_string_int", true, &[String, String, Int], strings, some));
}

/// At most `count` matches; all if it is negative.
fn find_all<'a>(regex: &regex::Regex, text: &str, count: i64) -> Val<'a> {
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    Val::list(regex.find_iter(text).take(limit).map(|found| Val::string(found.as_str().to_owned())).collect())
}
