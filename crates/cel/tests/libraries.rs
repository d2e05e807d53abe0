//! One line per behaviour of each function: an expression, and its value as text or what went wrong.

#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

use pawl_cel::{Bindings, Env, Program, Type, compile, k8s};

fn value(text: &str) -> String {
    let env = Env::new(k8s::library()).with_variable("unbound", Type::Dyn);
    let checked = match compile(text, &env) {
        Ok(checked) => checked,
        Err(issues) => return format!("compile: {}", issues.iter().next().unwrap().message),
    };
    let program = match Program::new(&checked, &env) {
        Ok(program) => program,
        Err(error) => return format!("plan: {error}"),
    };
    match program.run(&Bindings::new(), u64::MAX).value {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, expected)| (text, expected, value(text)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(text, expected, found)| format!("{text}: {found} instead of {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn numbers_and_conversions() {
    check(&[
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("-9223372036854775808 / -1", "error: integer overflow"),
        ("0u - 1u", "error: unsigned integer overflow"),
        ("1 / 0", "error: division by zero"),
        ("1 % 0", "error: modulus by zero"),
        ("7 / -2", "-3"),
        ("7 % -2", "1"),
        ("int('x')", "plan: type conversion error from 'string' to 'int'"),
        ("[dyn('x')].map(s, int(s))", "error: type conversion error from 'string' to 'int'"),
        ("int(2.9)", "2"),
        ("uint(-1)", "plan: unsigned integer overflow"),
        ("double('-inf') < 0.0", "true"),
        ("string(1000000.0)", "1e+06"),
        ("string(0.00001)", "1e-05"),
        ("string(123456.75)", "123456.75"),
        ("string(b'\\xff')", "plan: invalid UTF-8 in bytes, cannot convert to string"),
        ("1 < 1.5 && 1u < 2 && 2.0 > 1u", "true"),
        ("dyn(1) == 1.0 && dyn(1) == 1u", "true"),
        ("dyn('a') + 1", "error: no such overload"),
        ("dyn(null) + 1", "error: no such overload: _+_"),
        ("--1", "1"),
        ("---1", "-1"),
    ]);
}

#[test]
fn times() {
    check(&[
        ("duration('1h30m').getMinutes()", "90"),
        ("duration('-1.5s')", "-1.5s"),
        ("duration('1d')", "compile: invalid duration argument"),
        ("timestamp('2023-02-29T00:00:00Z')", "compile: invalid timestamp argument"),
        ("timestamp('2024-02-29T23:59:59.5+01:00')", "2024-02-29T23:59:59.5+01:00"),
        ("timestamp('2024-02-29T23:59:59+01:00').getHours()", "22"),
        ("timestamp('2024-07-01T12:00:00Z').getHours('America/New_York')", "8"),
        ("timestamp('2024-07-01T12:00:00Z').getHours('+05:30')", "17"),
        ("timestamp('2024-07-01T12:00:00Z').getHours('Nowhere')", "error: unknown time zone Nowhere"),
        ("timestamp('2024-12-31T00:00:00Z').getDayOfYear()", "365"),
        ("timestamp('2024-07-07T00:00:00Z').getDayOfWeek()", "0"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"),
        ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z')", "86400s"),
    ]);
}

#[test]
fn strings() {
    check(&[
        ("'tacocat'.charAt(7)", ""),
        ("'tacocat'.charAt(8)", "error: index out of range: 8"),
        ("'tacocat'.indexOf('a', 2)", "5"),
        ("'tacocat'.lastIndexOf('a', 4)", "1"),
        ("'été'.substring(1, 2)", "t"),
        ("'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"),
        ("'a b c'.split(' ', 2)", "[a, b c]"),
        ("'abc'.split('')", "[a, b, c]"),
        ("'banana'.replace('a', 'o', 2)", "bonona"),
        ("'abc'.replace('', '-')", "-a-b-c-"),
        ("' \\t a '.trim()", "a"),
        ("['a', 'b'].join('-')", "a-b"),
        ("[dyn(1)].join()", "error: no such overload: join(list)"),
        ("strings.quote('a\"b\\n')", "\"a\\\"b\\n\""),
        ("'%s %d %.2f %x %X %o %b'.format(['a', 1, 1234.5, 255, 'hi', 8, 5])", "a 1 1,234.50 ff 6869 10 101"),
        ("'%s'.format([{'b': [1.5, 'x'], 'a': null}])", "{\"a\":null, \"b\":[1.500000, \"x\"]}"),
        ("'%e'.format([1052.032911275])", "1.052033×10⁰³"),
        (
            "'%d'.format(['a'])",
            "compile: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%d'.format([1, 2])", "compile: too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%y'.format([1])", "compile: could not parse formatting clause: unrecognized formatting clause \"y\""),
        ("'%d %d'.format([1])", "compile: index 1 out of range"),
    ]);
}

#[test]
fn regular_expressions() {
    check(&[
        ("'aé1'.matches('^\\\\w+$')", "false"),
        ("'\\u0663'.matches('^\\\\d$')", "false"),
        ("'a.b'.matches('^\\\\Qa.b\\\\E$')", "true"),
        ("'[&&]'.matches('^[[&]+\\\\]$')", "true"),
        ("'a'.matches('a{1001}')", "compile: invalid matches argument"),
        ("'a'.matches('(?=a)')", "compile: invalid matches argument"),
        ("'a'.matches('a**')", "compile: invalid matches argument"),
        ("'a'.matches('(?i)A')", "true"),
        ("'a{,2}'.matches('^a{,2}$')", "true"),
        ("'abc 123'.find('[0-9]+')", "123"),
        ("'abc'.find('[0-9]+')", ""),
        ("'1 22 333'.findAll('[0-9]+', 2)", "[1, 22]"),
        ("'a'.find(')')", "plan: error parsing regexp: unexpected ): `)`"),
        ("'a'.find('(' + 'b')", "error: error parsing regexp: missing closing ): `(b`"),
    ]);
}

#[test]
fn lists_and_sets() {
    check(&[
        ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
        ("[1].slice(0, 2)", "error: cannot slice(0, 2), list is length 1"),
        ("[[1], [2, 3]].flatten()", "[1, 2, 3]"),
        ("[3, 1, 2].sort()", "[1, 2, 3]"),
        ("['bb', 'a'].sortBy(s, s.size())", "[a, bb]"),
        ("[1, 2, 1].distinct()", "[1, 2]"),
        ("lists.range(3).reverse()", "[2, 1, 0]"),
        ("[1, 2, 3].isSorted() && ![2, 1].isSorted()", "true"),
        ("[1.5, 2.5].sum()", "4"),
        ("[duration('1m'), duration('30s')].sum()", "90s"),
        ("['b', 'a'].min()", "a"),
        ("[1, 2, 1].lastIndexOf(1)", "2"),
        ("[].max()", "error: max called on empty list"),
        ("sets.contains([1, 2], [2]) && sets.intersects([1], [1, 3]) && sets.equivalent([1, 1], [1])", "true"),
        ("{'a': 1, 'b': 2}.transformList(k, v, k + string(v))", "[a1, b2]"),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", "{b: 20}"),
        ("['x', 'y'].transformMapEntry(i, v, {v: i})", "{x: 0, y: 1}"),
        ("[1, 1].transformMapEntry(i, v, {v: i})", "error: insert failed: key 1 already exists"),
        ("[1, 2].exists_one(i, v, v == i + 1 && v > 1)", "true"),
        ("[1, 2].all(i, i, true)", "compile: duplicate variable name: i"),
        ("[1].all(__result__, true)", "compile: iteration variable overwrites accumulator variable"),
        ("[1, 2].exists(x, 1 / (x - 1) == 1)", "true"),
        ("[1, 2].all(x, 1 / (x - 1) == 1)", "error: division by zero"),
        ("[0][5]", "error: index out of bounds: 5"),
        ("{'a': 1}.b", "error: no such key: b"),
        ("unbound == 1", "error: no such attribute(s): unbound"),
        ("true || unbound", "true"),
    ]);
}

#[test]
fn optionals() {
    check(&[
        ("optional.none().orValue(1)", "1"),
        ("optional.of(1).or(optional.of(2)).value()", "1"),
        ("optional.none().value()", "error: optional.none() dereference"),
        ("{'a': {'b': 1}}.?a.?b.orValue(0)", "1"),
        ("{'a': {'b': 1}}.?x.b.hasValue()", "false"),
        ("[1, 2][?5].hasValue()", "false"),
        ("[?optional.none(), ?optional.of(1)]", "[1]"),
        ("{?'a': optional.none(), 'b': 2}", "{b: 2}"),
        ("optional.of(2).optMap(x, x * 2)", "optional(4)"),
        ("optional.of(2).optFlatMap(x, optional.none())", "optional.none()"),
        ("optional.ofNonZeroValue('').hasValue()", "false"),
        ("[1, 2].first().value() + [1, 2].last().value()", "3"),
        ("optional.unwrap([optional.of(1), optional.none()])", "[1]"),
        ("[?1]", "compile: expected type 'optional_type(int)' but found 'int'"),
    ]);
}

#[test]
fn quantities() {
    check(&[
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", "true"),
        ("quantity('1.5').add(quantity('500m')).compareTo(quantity('2'))", "0"),
        ("quantity('50k').sub(20) == quantity('49980')", "true"),
        ("quantity('2') == quantity('1').add(1)", "error: no such overload"),
        ("quantity('1e3').asInteger()", "1000"),
        ("quantity('1.5Gi').isInteger()", "false"),
        ("quantity('1500m').asInteger()", "error: cannot convert value to integer"),
        ("quantity('1500m').asApproximateFloat()", "1.5"),
        ("sign(quantity('-3'))", "-1"),
        ("isQuantity('1.2.3') || isQuantity('') || isQuantity('1Zi')", "false"),
        ("quantity('1KK')", "error: unable to parse quantity's suffix"),
        ("quantity('99999999999999999999').sub(quantity('1')).isLessThan(quantity('1e20'))", "true"),
    ]);
}

#[test]
fn networks() {
    check(&[
        ("string(ip('2001:DB8::1'))", "2001:db8::1"),
        ("ip.isCanonical('2001:DB8::1')", "false"),
        ("ip('::ffff:1.2.3.4')", "error: IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"),
        ("ip('fe80::1%eth0')", "error: IP address \"fe80::1%eth0\" with zone value is not allowed"),
        (
            "ip('1.2.3')",
            "error: IP Address \"1.2.3\" parse error during conversion from string: ParseAddr(\"1.2.3\"): IPv4 address too short",
        ),
        ("ip('10.0.0.1').isGlobalUnicast() && ip('169.254.1.1').isLinkLocalUnicast()", "true"),
        ("cidr('10.1.2.3/8').masked()", "10.0.0.0/8"),
        ("cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')", "true"),
        ("cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "false"),
        ("isCIDR('10.0.0.0/33')", "false"),
        ("type(ip('1.2.3.4')) == net.IP", "true"),
    ]);
}

#[test]
fn urls_formats_and_versions() {
    check(&[
        ("url('https://user@example.com:8443/a%20b?k=1&k=2#f').getHost()", "example.com:8443"),
        ("url('https://[::1]:80/').getHostname()", "::1"),
        ("url('https://example.com/a b').getEscapedPath()", "/a%20b"),
        ("url('/x?k=1&k=2&l=a+b').getQuery()", "{k: [1, 2], l: [a b]}"),
        ("isURL('example.com') || isURL('')", "false"),
        ("url('x')", "error: URL parse error during conversion from string: parse \"x\": invalid URI for request"),
        ("format.dns1123Label().validate('my-name')", "optional.none()"),
        ("format.dns1123Label().validate('a.b').value()", "[must not contain dots]"),
        ("format.dns1123LabelPrefix().validate('a-')", "optional.none()"),
        ("format.named('uuid').value().validate('x').value()", "[does not match the UUID format]"),
        ("format.named('nope').hasValue()", "false"),
        ("format.datetime().validate('2020-01-01T00:00:00Z').hasValue()", "false"),
        ("format.labelValue().validate('').hasValue()", "false"),
        ("semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true"),
        ("semver('v01.2', true).minor()", "2"),
        ("semver('01.2.3')", "error: Major number must not contain leading zeroes \"01\""),
        ("isSemver('1.2') || isSemver('v1.2.3')", "false"),
        ("semver('1.2.3+build') == semver('1.2.3')", "true"),
    ]);
}
