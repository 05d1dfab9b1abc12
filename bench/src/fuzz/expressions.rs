//! Random expressions of a wanted type.
//!
//! Results must be the same on every correct VM: nothing depends on identity hashes, on the bits of a NaN, or on
//! functions whose last digit is free. A wrong index or a null is possible but rare, except where it is caught.

use super::body::{Body, Holds};
use super::plan::CLASSES;
use super::types::{Element, Type};

impl Body<'_> {
    /// An expression that can stand wherever a whole one is allowed.
    pub fn expression(&mut self, ty: Type, depth: u32) -> String {
        self.spend(1);
        if depth == 0 || self.left() == 0 || self.rng.chance(10) {
            return self.leaf(ty);
        }
        if self.rng.chance(12)
            && let Some(call) = self.any_call(ty, depth - 1)
        {
            return call;
        }
        match ty {
            Type::Int | Type::Long => self.integer(ty, depth - 1),
            Type::Float | Type::Double => self.floating(ty, depth - 1),
            Type::Byte | Type::Short | Type::Char => self.small(ty, depth - 1),
            Type::Boolean => self.boolean(depth - 1),
            Type::Text => self.text(depth - 1),
            Type::Node => self.node(depth - 1),
            Type::Object => self.object(depth - 1),
            Type::Array(element) => self.array(element, depth - 1),
        }
    }

    /// The same, in parentheses if it needs them as an operand.
    pub fn operand(&mut self, ty: Type, depth: u32) -> String {
        let text = self.expression(ty, depth);
        parenthesized(text)
    }

    /// A node whose member is used.
    pub fn receiver(&mut self, depth: u32) -> String {
        match self.rng.below(10) {
            0..=4 => format!("node({})", self.expression(Type::Int, depth.min(1))),
            5 | 6 if self.this.is_some() => self.this.expect("just looked").into(),
            7 => format!("new {}({})", self.concrete(), self.constant(Type::Int)),
            _ if self.risks() => self.operand(Type::Node, depth),
            _ => format!("NODES[{}]", self.rng.below(8)),
        }
    }

    pub fn concrete(&mut self) -> &'static str {
        self.rng.pick(&CLASSES)
    }

    /// A variable, a field, or a constant.
    pub fn leaf(&mut self, ty: Type) -> String {
        let locals = self.locals_of(ty);
        if !locals.is_empty() && self.rng.chance(65) {
            return self.rng.pick(&locals);
        }
        // Constants of these types say little.
        let mostly_fields = !ty.is_number() && ty != Type::Boolean;
        if self.rng.chance(if mostly_fields { 95 } else { 45 })
            && let Some(field) = self.field(ty)
        {
            return field;
        }
        if !locals.is_empty() {
            return self.rng.pick(&locals);
        }
        if ty == Type::Boolean && self.rng.chance(90) {
            let operator = self.rng.pick(&["<", ">", "==", "!="]);
            let left = self.leaf(Type::Int);
            return format!("({left} {operator} {})", self.leaf(Type::Int));
        }
        self.constant(ty)
    }

    /// A static field, or one of a node.
    fn field(&mut self, ty: Type) -> Option<String> {
        let of_type = |fields: &[super::plan::Field]| -> Vec<String> {
            let fits = fields.iter().filter(|field| field.ty == ty);
            fits.map(|field| field.name.clone()).collect()
        };
        let (statics, fields) = (of_type(&self.plan.statics), of_type(&self.plan.fields));
        if !statics.is_empty() && (fields.is_empty() || self.rng.chance(50)) {
            return Some(self.rng.pick(&statics));
        }
        if fields.is_empty() {
            return None;
        }
        let name = self.rng.pick(&fields);
        if self.this.is_some() && self.rng.chance(60) {
            return Some(name);
        }
        Some(format!("{}.{name}", self.receiver(0)))
    }

    /// Something that can be assigned to.
    pub fn place(&mut self, ty: Type, depth: u32) -> Option<String> {
        let fits = |l: &&super::body::Local| l.assignable && l.holds == Holds::Value(ty);
        let locals: Vec<String> =
            self.locals.iter().filter(fits).map(|local| local.name.clone()).collect();
        match self.rng.below(10) {
            0..=4 if !locals.is_empty() => Some(self.rng.pick(&locals)),
            5..=7 => self.field(ty),
            _ => Element::ALL
                .iter()
                .find(|element| element.as_type() == ty)
                .map(|element| self.element(*element, depth)),
        }
    }

    /// An element of some array.
    fn element(&mut self, element: Element, depth: u32) -> String {
        let array = self.leaf(Type::Array(element));
        let index = self.index(depth);
        format!("{}[{index}]", parenthesized_new(array))
    }

    /// An index that is usually right for an array of eight or more.
    pub fn index(&mut self, depth: u32) -> String {
        if self.risks() {
            let limit = self.rng.pick(&["9", "12", "20"]);
            return match self.rng.below(3) {
                0 => self.expression(Type::Int, depth),
                1 => format!("{} % {limit}", self.operand(Type::Int, depth)),
                _ => self
                    .rng
                    .pick(&["-1", "8", "16", "Integer.MAX_VALUE", "Integer.MIN_VALUE"])
                    .into(),
            };
        }
        match self.rng.below(6) {
            0 => self.rng.below(8).to_string(),
            1 => format!("({}) >>> 29", self.expression(Type::Int, depth)),
            2 => format!("(int) {} & 7", self.operand(Type::Long, depth)),
            _ => format!("{} & 7", self.operand(Type::Int, depth)),
        }
    }

    fn any_call(&mut self, ty: Type, depth: u32) -> Option<String> {
        if self.weight == 1
            && let Some((method, times)) = self.itself.clone()
            && method.ret == ty
            && times > 0
        {
            self.itself = Some((method.clone(), times - 1));
            let arguments: Vec<String> =
                method.params.iter().map(|param| self.expression(*param, depth)).collect();
            let arguments: String = arguments.iter().map(|a| format!(", {a}")).collect();
            let other = self.leaf(ty);
            return Some(format!("(depth > 0 ? {}(depth - 1{arguments}) : {other})", method.name));
        }
        if let Some(method) = self.overridden.clone()
            && method.ret == ty
            && method.cost <= self.left() / self.weight
        {
            self.spend(method.cost);
            let arguments: Vec<String> =
                method.params.iter().map(|param| self.expression(*param, depth)).collect();
            return Some(format!("super.{}({})", method.name, arguments.join(", ")));
        }
        let lambda = |local: &super::body::Local| match local.holds {
            Holds::Lambda(shape) if shape.ty == ty => Some((local.name.clone(), shape)),
            _ => None,
        };
        let lambdas: Vec<_> = self.locals.iter().filter_map(lambda).collect();
        if !lambdas.is_empty() && self.left() / self.weight >= LAMBDA_COST && self.rng.chance(40) {
            let (name, shape) = self.rng.pick(&lambdas);
            self.spend(LAMBDA_COST);
            let arguments: Vec<String> =
                (0..shape.params).map(|_| self.expression(ty, depth)).collect();
            return Some(format!("{name}.{}({})", shape.method, arguments.join(", ")));
        }
        let method = self.callable(ty)?;
        Some(self.call(&method, depth))
    }

    fn integer(&mut self, ty: Type, depth: u32) -> String {
        let long = ty == Type::Long;
        match self.rng.below(100) {
            0..=27 => {
                let operator = self.rng.pick(&["+", "-", "*", "+", "-", "*", "&", "|", "^"]);
                self.binary(ty, operator, depth)
            }
            28..=33 => {
                let operator = self.rng.pick(&["/", "%"]);
                let (left, right) = (self.operand(ty, depth), self.operand(ty, depth));
                match self.rng.below(6) {
                    0 if self.guarded => format!("{left} {operator} {right}"),
                    1 => format!("{left} {operator} {}", self.divisor(ty)),
                    _ => format!("{left} {operator} ({right} | 1)"),
                }
            }
            34..=42 => {
                let operator = self.rng.pick(&["<<", ">>", ">>>"]);
                let by = if self.rng.chance(20) { Type::Long } else { Type::Int };
                let by = match self.rng.chance(50) {
                    true => {
                        self.rng.pick(&["1", "3", "8", "16", "31", "32", "33", "63", "-1"]).into()
                    }
                    false => self.operand(by, depth),
                };
                format!("{} {operator} {by}", self.operand(ty, depth))
            }
            43..=46 => {
                let operator = self.rng.pick(&["-", "~"]);
                format!("{operator}({})", self.expression(ty, depth))
            }
            47..=53 => self.conversion(ty, depth),
            54..=62 => {
                let element = self.integral_element(long);
                self.element(element, depth)
            }
            63..=69 => self.assignment(ty, depth),
            70..=75 => self.choice(ty, depth),
            76..=79 => {
                let text = self.operand(Type::Text, depth);
                let in_range = format!("at({text}, {})", self.expression(Type::Int, depth));
                match self.rng.below(5) {
                    0 => format!("{text}.length()"),
                    1 => format!("{text}.hashCode()"),
                    2 if self.risks() => format!("{text}.charAt({})", self.index(depth)),
                    3 => format!("{text}.indexOf({})", self.operand(Type::Char, depth)),
                    _ => in_range,
                }
            }
            80..=87 if long => self.long_library(depth),
            80..=87 => self.int_library(depth),
            88..=91 => self.switch_expression(ty, depth),
            92 | 93 => {
                let element = self.rng.pick(&Element::ALL);
                format!("{}.length", parenthesized_new(self.leaf(Type::Array(element))))
            }
            94 => {
                let count = self.rng.below(4);
                let values: Vec<String> =
                    (0..count).map(|_| self.expression(Type::Int, depth)).collect();
                format!("sumOf({})", values.join(", "))
            }
            95 if !long => {
                let object = self.operand(Type::Object, depth);
                format!("(int) ({object} instanceof Integer n ? n : {})", self.constant(ty))
            }
            _ if long => format!("(long) Long.valueOf({})", self.expression(ty, depth)),
            _ => format!("(int) Integer.valueOf({})", self.expression(ty, depth)),
        }
    }

    fn integral_element(&mut self, long: bool) -> Element {
        use Element::*;
        if long && self.rng.chance(60) {
            Long
        } else {
            self.rng.pick(&[Int, Int, Int, Byte, Short, Char])
        }
    }

    fn divisor(&mut self, ty: Type) -> String {
        let text = self.rng.pick(&["1", "-1", "2", "3", "7", "-10", "16", "1000", "-128", "641"]);
        if ty == Type::Long { format!("{text}L") } else { text.to_string() }
    }

    fn binary(&mut self, ty: Type, operator: &str, depth: u32) -> String {
        // Narrower operands are widened, as in most real code.
        let side = |body: &mut Self| match ty {
            Type::Long if body.rng.chance(25) => Type::Int,
            Type::Int if body.rng.chance(15) => {
                body.rng.pick(&[Type::Byte, Type::Short, Type::Char])
            }
            Type::Double if body.rng.chance(25) => {
                body.rng.pick(&[Type::Int, Type::Long, Type::Float])
            }
            Type::Float if body.rng.chance(20) => Type::Int,
            _ => ty,
        };
        let (left, right) = match self.rng.chance(50) {
            true => (ty, side(self)),
            false => (side(self), ty),
        };
        let left = self.operand(left, depth);
        format!("{left} {operator} {}", self.operand(right, depth))
    }

    /// From another primitive type.
    fn conversion(&mut self, ty: Type, depth: u32) -> String {
        let numbers: Vec<Type> = Type::NUMBERS.into_iter().filter(|from| *from != ty).collect();
        let from = self.rng.pick(&numbers);
        let through = match self.rng.chance(25) {
            true => format!("({}) ", self.rng.pick(&Type::NUMBERS).name()),
            false => String::new(),
        };
        format!("({}) {through}({})", ty.name(), self.expression(from, depth))
    }

    /// An assignment whose value is used.
    fn assignment(&mut self, ty: Type, depth: u32) -> String {
        let target = match self.rng.below(4) {
            0 if ty == Type::Int => self.rng.pick(&[Type::Byte, Type::Short, Type::Char]),
            0 if ty == Type::Long => Type::Int,
            0 if ty == Type::Double => Type::Float,
            _ => ty,
        };
        let Some(place) = self.place(target, depth) else {
            return self.leaf(ty);
        };
        let value = self.expression(target, depth);
        match self.rng.below(6) {
            0 => format!("({place} = {value})"),
            1 => format!("{place}++"),
            2 => format!("--{place}"),
            3 if target.is_integer() => {
                let operator = self.rng.pick(&["<<=", ">>=", ">>>=", "&=", "|=", "^="]);
                format!("({place} {operator} {value})")
            }
            _ => {
                let operator = self.rng.pick(&["+=", "-=", "*="]);
                let other = match self.rng.chance(25) {
                    true => self.rng.pick(&Type::NUMBERS),
                    false => target,
                };
                format!("({place} {operator} {})", self.expression(other, depth))
            }
        }
    }

    fn choice(&mut self, ty: Type, depth: u32) -> String {
        let condition = self.operand(Type::Boolean, depth);
        let (yes, no) = (self.operand(ty, depth), self.operand(ty, depth));
        format!("({condition} ? {yes} : {no})")
    }

    fn switch_expression(&mut self, ty: Type, depth: u32) -> String {
        let on = self.operand(Type::Int, depth);
        let mut text = format!("(switch ({on} & 3) {{ ");
        for value in 0..self.rng.between(1, 3) {
            text += &format!("case {value} -> {}; ", self.expression(ty, depth));
        }
        text += &format!("default -> {}; }})", self.expression(ty, depth));
        text
    }

    fn int_library(&mut self, depth: u32) -> String {
        let pair = |b: &mut Self| (b.expression(Type::Int, depth), b.operand(Type::Int, depth));
        match self.rng.below(16) {
            0..=4 => {
                let name = self.rng.pick(&[
                    "Integer.bitCount",
                    "Integer.numberOfLeadingZeros",
                    "Integer.numberOfTrailingZeros",
                    "Integer.reverse",
                    "Integer.reverseBytes",
                    "Integer.highestOneBit",
                    "Integer.signum",
                    "Math.abs",
                ]);
                format!("{name}({})", self.expression(Type::Int, depth))
            }
            5..=8 => {
                let name = self.rng.pick(&[
                    "Integer.rotateLeft",
                    "Integer.rotateRight",
                    "Integer.compare",
                    "Integer.compareUnsigned",
                    "Math.max",
                    "Math.min",
                ]);
                let (a, b) = pair(self);
                format!("{name}({a}, {b})")
            }
            9 | 10 => {
                let name = self.rng.pick(&[
                    "Integer.divideUnsigned",
                    "Integer.remainderUnsigned",
                    "Math.floorMod",
                    "Math.floorDiv",
                ]);
                let (a, b) = pair(self);
                format!("{name}({a}, {b} | 1)")
            }
            11 if self.guarded => {
                let name =
                    self.rng.pick(&["Math.addExact", "Math.multiplyExact", "Math.subtractExact"]);
                let (a, b) = pair(self);
                format!("{name}({a}, {b})")
            }
            12 => format!("Float.floatToIntBits({})", self.expression(Type::Float, depth)),
            13 => {
                let (a, b) =
                    (self.expression(Type::Double, depth), self.expression(Type::Double, depth));
                format!("Double.compare({a}, {b})")
            }
            14 => format!("Arrays.hashCode({})", self.leaf(Type::Array(Element::Int))),
            _ => format!("Character.toUpperCase({})", self.operand(Type::Char, depth)),
        }
    }

    fn long_library(&mut self, depth: u32) -> String {
        let a = self.expression(Type::Long, depth);
        match self.rng.below(10) {
            0..=2 => {
                let name = self.rng.pick(&[
                    "Long.bitCount",
                    "Long.numberOfLeadingZeros",
                    "Long.numberOfTrailingZeros",
                    "Long.reverse",
                    "Long.reverseBytes",
                    "Long.signum",
                    "Math.abs",
                ]);
                format!("{name}({a})")
            }
            3 => format!("Long.rotateLeft({a}, {})", self.expression(Type::Int, depth)),
            4 => format!("Double.doubleToLongBits({})", self.expression(Type::Double, depth)),
            5 => format!("Math.round({})", self.expression(Type::Double, depth)),
            6 => {
                let name = self.rng.pick(&[
                    "Long.divideUnsigned",
                    "Long.remainderUnsigned",
                    "Math.floorMod",
                    "Math.floorDiv",
                ]);
                format!("{name}({a}, {} | 1L)", self.operand(Type::Long, depth))
            }
            7 if self.guarded => {
                let name = self.rng.pick(&["Math.addExact", "Math.multiplyExact"]);
                format!("{name}({a}, {})", self.expression(Type::Long, depth))
            }
            _ => {
                let name = self.rng.pick(&[
                    "Math.max",
                    "Math.min",
                    "Math.multiplyHigh",
                    "Long.compareUnsigned",
                ]);
                format!("{name}({a}, {})", self.expression(Type::Long, depth))
            }
        }
    }

    fn floating(&mut self, ty: Type, depth: u32) -> String {
        match self.rng.below(100) {
            0..=44 => {
                let operator = self.rng.pick(&["+", "-", "*", "+", "-", "*", "/", "%"]);
                self.binary(ty, operator, depth)
            }
            45..=49 => format!("-({})", self.expression(ty, depth)),
            50..=61 => self.conversion(ty, depth),
            62..=69 => {
                let element = if ty == Type::Double { Element::Double } else { Element::Float };
                self.element(element, depth)
            }
            70..=76 => self.assignment(ty, depth),
            77..=83 => self.choice(ty, depth),
            84..=86 => self.switch_expression(ty, depth),
            87..=89 if ty == Type::Float => {
                format!("Float.intBitsToFloat({})", self.expression(Type::Int, depth))
            }
            87..=89 => format!("Double.longBitsToDouble({})", self.expression(Type::Long, depth)),
            90..=92 => {
                let name = self.rng.pick(&["Math.max", "Math.min"]);
                let a = self.expression(ty, depth);
                format!("{name}({a}, {})", self.expression(ty, depth))
            }
            93 | 94 => format!("Math.abs({})", self.expression(ty, depth)),
            _ => {
                let name = self.rng.pick(&["sqrt", "floor", "ceil", "rint", "signum", "sqrt"]);
                let cast = if ty == Type::Float { "(float) " } else { "" };
                format!("{cast}Math.{name}({})", self.expression(Type::Double, depth))
            }
        }
    }

    fn small(&mut self, ty: Type, depth: u32) -> String {
        match self.rng.below(10) {
            0..=5 => {
                let from = self.rng.weighted(&[
                    (8, Type::Int),
                    (2, Type::Long),
                    (1, Type::Double),
                    (1, Type::Float),
                    (1, Type::Char),
                    (1, Type::Byte),
                ]);
                format!("({}) ({})", ty.name(), self.expression(from, depth))
            }
            6 | 7 => {
                let element = match ty {
                    Type::Byte => Element::Byte,
                    Type::Short => Element::Short,
                    _ => Element::Char,
                };
                self.element(element, depth)
            }
            8 => {
                let choice = self.choice(ty, depth);
                format!("({}) {choice}", ty.name())
            }
            _ => match self.place(ty, depth) {
                Some(place) => format!("{place}{}", self.rng.pick(&["++", "--"])),
                None => self.leaf(ty),
            },
        }
    }

    pub fn boolean(&mut self, depth: u32) -> String {
        match self.rng.below(100) {
            0..=39 => {
                let ty = self.rng.weighted(&[
                    (10, Type::Int),
                    (6, Type::Long),
                    (3, Type::Double),
                    (2, Type::Float),
                    (1, Type::Char),
                    (1, Type::Byte),
                ]);
                let operator = self.rng.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let left = self.operand(ty, depth);
                format!("{left} {operator} {}", self.operand(ty, depth))
            }
            40..=57 => {
                let operator = self.rng.pick(&["&&", "||", "&&", "||", "^", "&", "|", "=="]);
                let left = self.operand(Type::Boolean, depth);
                format!("{left} {operator} {}", self.operand(Type::Boolean, depth))
            }
            58..=63 => format!("!({})", self.expression(Type::Boolean, depth)),
            64..=71 => {
                let ty = self.rng.pick(&["A", "B", "C", "Odd", "Face", "Node"]);
                let object = self.rng.pick(&[Type::Node, Type::Object]);
                // Always true of a node that is not null, but not for the compiler of the language.
                format!("(Object) {} instanceof {ty}", self.operand(object, depth))
            }
            72..=75 => {
                let ty = self.rng.pick(&[
                    "String",
                    "Integer",
                    "int[]",
                    "Object[]",
                    "Node[]",
                    "Comparable",
                ]);
                format!("{} instanceof {ty}", self.operand(Type::Object, depth))
            }
            76..=80 => {
                let a = self.expression(Type::Text, depth);
                format!("Objects.equals({a}, {})", self.expression(Type::Text, depth))
            }
            81..=84 => {
                let operator = self.rng.pick(&["==", "!="]);
                let a = self.operand(Type::Node, depth);
                let b = match self.rng.chance(30) {
                    true => "null".to_string(),
                    false => self.operand(Type::Node, depth),
                };
                format!("{a} {operator} {b}")
            }
            85..=90 => self.element(Element::Boolean, depth),
            91..=94 => self.choice(Type::Boolean, depth),
            95 | 96 => {
                format!("Double.isNaN({})", self.expression(Type::Double, depth))
            }
            _ => match self.place(Type::Boolean, depth) {
                Some(place) => {
                    let operator = self.rng.pick(&["=", "&=", "|=", "^="]);
                    format!("({place} {operator} {})", self.expression(Type::Boolean, depth))
                }
                None => self.leaf(Type::Boolean),
            },
        }
    }

    fn text(&mut self, depth: u32) -> String {
        self.spend(TEXT_COST);
        match self.rng.below(10) {
            0..=4 => {
                let count = self.rng.between(2, 4);
                let mut parts =
                    vec![format!("\"{}\"", self.rng.pick(&["", "a", "-", "\\u00e9", "x="]))];
                for _ in 0..count {
                    let ty = self.rng.pick(&[
                        Type::Int,
                        Type::Long,
                        Type::Char,
                        Type::Boolean,
                        Type::Text,
                        Type::Byte,
                        Type::Double,
                        Type::Node,
                    ]);
                    parts.push(self.operand(ty, depth));
                }
                format!("cut({})", parts.join(" + "))
            }
            5 => format!("String.valueOf({})", self.expression(Type::Int, depth)),
            6 => self.element(Element::Text, depth),
            7 => {
                let text = self.operand(Type::Text, depth);
                if self.risks() {
                    format!("{text}.substring({})", self.index(depth))
                } else {
                    format!(
                        "{text}.{}",
                        self.rng.pick(&["trim()", "toUpperCase()", "toString()", "strip()"])
                    )
                }
            }
            8 => self.choice(Type::Text, depth),
            _ => format!("show({})", self.expression(Type::Object, depth)),
        }
    }

    fn node(&mut self, depth: u32) -> String {
        match self.rng.below(20) {
            0..=7 => format!("node({})", self.expression(Type::Int, depth)),
            8..=10 => {
                self.spend(4);
                format!("(Node) new {}({})", self.concrete(), self.expression(Type::Int, depth))
            }
            11 | 12 => self.element(Element::Node, depth),
            13 if self.risks() => {
                format!("(Node) ({}) {}", self.concrete(), self.operand(Type::Node, depth))
            }
            14 if self.risks() => "(Node) null".into(),
            15 if self.risks() => format!("(Node) {}", self.operand(Type::Object, depth)),
            16 | 17 => format!("{}.next", self.receiver(depth)),
            _ => self.choice(Type::Node, depth),
        }
    }

    fn object(&mut self, depth: u32) -> String {
        let ty = self.rng.pick(&[
            Type::Node,
            Type::Text,
            Type::Int,
            Type::Array(Element::Int),
            Type::Array(Element::Node),
            Type::Object,
        ]);
        match ty {
            Type::Int => format!("(Object) ({})", self.expression(Type::Int, depth)),
            other => format!("(Object) {}", self.operand(other, depth)),
        }
    }

    fn array(&mut self, element: Element, depth: u32) -> String {
        self.spend(8);
        let name = element.as_type().name();
        let fresh = |length: String| match element {
            Element::Ints => format!("new int[{length}][8]"),
            _ => format!("new {name}[{length}]"),
        };
        match self.rng.below(6) {
            0 | 1 => {
                let length = self.rng.pick(&["8", "8", "10", "16"]);
                fresh(length.into())
            }
            2 if self.risks() => fresh(format!("{} % 6", self.operand(Type::Int, depth))),
            2 => fresh(format!("8 + ({} & 7)", self.operand(Type::Int, depth))),
            3 => {
                let values: Vec<String> =
                    (0..8).map(|_| self.expression(element.as_type(), depth.min(1))).collect();
                format!("new {name}[] {{{}}}", values.join(", "))
            }
            4 => format!("{}.clone()", parenthesized_new(self.leaf(Type::Array(element)))),
            _ => self.choice(Type::Array(element), depth),
        }
    }
}

/// In parentheses, unless it is a name, a number or a call.
fn parenthesized(text: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '"');
    if text.chars().all(plain) || is_enclosed(&text) { text } else { format!("({text})") }
}

/// Array creations cannot be indexed as they are.
pub fn parenthesized_new(text: String) -> String {
    if text.starts_with("new ") || text.starts_with('(') { format!("({text})") } else { text }
}

/// Whether the first character is a parenthesis that the last one closes.
fn is_enclosed(text: &str) -> bool {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return c == ')' && at == text.len() - 1;
        }
    }
    false
}

/// The cost of building a string.
const TEXT_COST: u64 = 15;

/// The maximum cost of a lambda's body; bodies of lambdas are small.
pub const LAMBDA_COST: u64 = 20;
