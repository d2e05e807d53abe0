//! How text that is no expression is refused.

use pawl_cel::{Env, compile, k8s};

const START: &str =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// What is found in a text: lines, columns and messages; `START` stands for what may start an expression.
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
fn check(text: &str, expected: &[(i32, i32, &str)]) {
    let issues = compile(text, &Env::new(k8s::library())).unwrap_err();
    let found: Vec<_> =
        issues.iter().map(|issue| (issue.location.line, issue.location.column + 1, issue.message.clone())).collect();
    let expected: Vec<_> =
        expected.iter().map(|(line, column, message)| (*line, *column, message.replace("START", START))).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn errors_read_as_the_references_do() {
    check("", &[(1, 1, "Syntax error: mismatched input '<EOF>' expecting START")]);
    check("1 +", &[(1, 4, "Syntax error: mismatched input '<EOF>' expecting START")]);
    check("(1", &[(1, 3, "Syntax error: missing ')' at '<EOF>'")]);
    check("1 2", &[(1, 3, "Syntax error: extraneous input '2' expecting <EOF>")]);
    check("1 2 3", &[(1, 3, "Syntax error: mismatched input '2' expecting <EOF>")]);
    check("[1 2]", &[(1, 4, "Syntax error: extraneous input '2' expecting {']', ','}")]);
    check("1 + + 2", &[(1, 5, "Syntax error: extraneous input '+' expecting START")]);
    check(
        "1 = 1",
        &[
            (1, 3, "Syntax error: token recognition error at: '= '"),
            (1, 5, "Syntax error: extraneous input '1' expecting <EOF>"),
        ],
    );
    check(
        "'a",
        &[
            (1, 1, "Syntax error: token recognition error at: ''a'"),
            (1, 3, "Syntax error: mismatched input '<EOF>' expecting START"),
        ],
    );
    check("[1].", &[(1, 5, "Syntax error: no viable alternative at input '.'")]);
    check("[1].true", &[(1, 5, "Syntax error: mismatched input 'true' expecting IDENTIFIER")]);
    check(
        "--",
        &[
            (1, 3, "Syntax error: no viable alternative at input '-'"),
            (1, 3, "Syntax error: mismatched input '<EOF>' expecting START"),
        ],
    );
    check("if", &[(1, 1, "reserved identifier: if")]);
    check("9223372036854775808", &[(1, 1, "invalid int literal")]);
    check("'\\ud800'", &[(1, 1, "invalid unicode code point")]);
    check("true\n&& x", &[(2, 4, "undeclared reference to 'x' (in container '')")]);
}

#[test]
fn wide_characters_are_pointed_past() {
    #[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
    let issues = compile("'é' == x", &Env::new(k8s::library())).unwrap_err();
    let expected = "ERROR: <input>:1:8: undeclared reference to 'x' (in container '')\n | 'é' == x\n | .\u{ff0e}.....^";
    assert_eq!(issues.to_string(), expected);
}
