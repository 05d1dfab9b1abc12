//! Random constants, many of them at the edges of their types.

use super::body::Body;
use super::types::{Element, Type};

impl Body<'_> {
    pub fn constant(&mut self, ty: Type) -> String {
        let random = self.rng.bits();
        match ty {
            Type::Boolean => self.rng.pick(&["true", "false"]).into(),
            Type::Byte => format!("(byte) {}", random as i8),
            Type::Short => format!("(short) {}", random as i16),
            Type::Char => match self.rng.chance(70) {
                true => format!("'{}'", char::from(b'a' + (random % 26) as u8)),
                false => format!("(char) {}", random as u16),
            },
            Type::Int if self.rng.chance(15) => format!("{}", random as i32),
            Type::Int => self.rng.pick(&INTS).into(),
            Type::Long if self.rng.chance(15) => format!("{}L", random as i64),
            Type::Long if self.rng.chance(50) => self.rng.pick(&LONGS).into(),
            Type::Long => format!("{}L", random as i8),
            Type::Float => self.rng.pick(&FLOATS).into(),
            Type::Double if self.rng.chance(25) => format!("{}.25", random as i16),
            Type::Double => self.rng.pick(&DOUBLES).into(),
            Type::Text => {
                self.rng.pick(&["\"\"", "\"one\"", "\"two\"", "\"\\u00fc3\"", "\"four\""]).into()
            }
            Type::Node => format!("NODES[{}]", random % 8),
            Type::Object => {
                let value = self.rng.pick(&["\"object\"", "NODES[2]", "NODES", "77"]);
                format!("(Object) {value}")
            }
            Type::Array(Element::Ints) => "new int[8][8]".into(),
            Type::Array(Element::Text) => "texts()".into(),
            Type::Array(Element::Node) => "NODES.clone()".into(),
            Type::Array(element) => format!("new {}[8]", element.as_type().name()),
        }
    }
}

const INTS: [&str; 30] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "5",
    "7",
    "8",
    "10",
    "15",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "100",
    "127",
    "-128",
    "255",
    "256",
    "32767",
    "-32768",
    "65535",
    "65536",
    "0x55555555",
    "1000003",
    "Integer.MAX_VALUE",
    "Integer.MIN_VALUE",
    "-2147483647",
];

const LONGS: [&str; 12] = [
    "0L",
    "1L",
    "-1L",
    "0xFFFFFFFFL",
    "0x80000000L",
    "-2147483649L",
    "1L << 32",
    "Long.MAX_VALUE",
    "Long.MIN_VALUE",
    "9007199254740993L",
    "0x5555555555555555L",
    "1000000007L",
];

const FLOATS: [&str; 14] = [
    "0f",
    "-0f",
    "1f",
    "-1.5f",
    "0.1f",
    "3e10f",
    "16777217f",
    "-2.1474836E9f",
    "1e-40f",
    "Float.NaN",
    "Float.POSITIVE_INFINITY",
    "Float.NEGATIVE_INFINITY",
    "Float.MAX_VALUE",
    "Float.MIN_VALUE",
];

const DOUBLES: [&str; 15] = [
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.1",
    "1e10",
    "-2147483648.5",
    "9.223372036854776E18",
    "1e300",
    "Double.NaN",
    "Double.POSITIVE_INFINITY",
    "Double.NEGATIVE_INFINITY",
    "Double.MAX_VALUE",
    "Double.MIN_VALUE",
    "2.5",
];
