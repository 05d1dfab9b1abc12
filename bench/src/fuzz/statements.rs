//! Random statements.

use super::body::{Body, Holds, Label, Local};
use super::expressions::{LAMBDA_COST, parenthesized_new};
use super::plan::SHAPES;
use super::tree::Part;
use super::types::{Element, Type};

impl Body<'_> {
    /// `count` statements, with others inside of them down to `depth`; the values that they compute are used.
    pub fn statements(&mut self, count: usize, depth: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        let before = self.locals.len();
        for _ in 0..count {
            if self.left() < self.weight * 10 {
                break;
            }
            self.statement(depth, &mut parts);
        }
        let declared = self.locals.split_off(before);
        for local in &declared {
            let mixable = match local.holds {
                Holds::Value(ty) => ty.is_number() || ty == Type::Boolean || ty == Type::Text,
                Holds::Lambda(_) => false,
            };
            if mixable && self.rng.chance(60) {
                self.spend(2);
                parts.push(Part::line(format!("mix({});", local.name)));
            }
        }
        self.locals.extend(declared);
        parts
    }

    fn block(&mut self, depth: u32) -> Vec<Part> {
        let count = self.rng.between(1, 3);
        self.scoped(|body| body.statements(count, depth))
    }

    fn statement(&mut self, depth: u32, parts: &mut Vec<Part>) {
        let compound = depth > 0;
        match self.rng.below(100) {
            0..=16 => self.declaration(parts),
            17..=36 => parts.push(self.simple_assignment()),
            37..=43 => {
                let ty =
                    self.rng.pick(&[Type::Int, Type::Long, Type::Double, Type::Float, Type::Text]);
                parts.push(Part::line(format!("mix({});", self.expression(ty, 2))));
            }
            44..=47 => self.lambda(parts),
            48..=50 => self.library(parts),
            51 | 52 if self.guarded => parts.push(self.mishap()),
            51..=54 => parts.push(self.leave()),
            55..=66 if compound => parts.push(self.condition(depth - 1)),
            67..=82 if compound => self.some_loop(depth - 1, parts),
            83..=87 if compound => parts.push(self.switch(depth - 1)),
            88..=94 if compound => parts.push(self.attempt(depth - 1)),
            95 | 96 if compound => {
                let lock = self.lock();
                let inside = self.block(depth - 1);
                parts.push(Part::block(format!("synchronized ({lock}) {{"), inside));
            }
            97 if compound => {
                let name = self.fresh("L");
                let inside = self.scoped(|body| {
                    body.labels.push(Label { name: name.clone(), is_loop: false });
                    body.statements(3, depth - 1)
                });
                parts.push(Part::block(format!("{name}: {{"), inside));
            }
            _ => self.declaration(parts),
        }
    }

    fn declaration(&mut self, parts: &mut Vec<Part>) {
        let ty = Type::any(self.rng);
        let value = self.expression(ty, 3);
        // A value of a wider static type would not fit without a cast.
        let value = if ty.is_small() { format!("({}) ({value})", ty.name()) } else { value };
        let name = self.fresh("v");
        parts.push(Part::line(format!("{} {name} = {value};", ty.name())));
        self.declare(&name, ty, true);
    }

    fn simple_assignment(&mut self) -> Part {
        let ty = Type::any(self.rng);
        let Some(place) = self.place(ty, 2) else {
            return Part::line(format!("mix({});", self.expression(Type::Int, 3)));
        };
        let line = match ty {
            _ if ty.is_number() && self.rng.chance(30) => {
                let operator = self.rng.pick(&["+=", "-=", "*=", "+=", "-="]);
                format!("{place} {operator} {};", self.expression(ty, 3))
            }
            _ if ty.is_number() && self.rng.chance(15) => {
                format!("{place}{};", self.rng.pick(&["++", "--"]))
            }
            _ if ty.is_small() => {
                format!("{place} = ({}) ({});", ty.name(), self.expression(Type::Int, 3))
            }
            _ => format!("{place} = {};", self.expression(ty, 3)),
        };
        Part::line(line)
    }

    /// A lambda, or a reference to a method, in a local variable.
    fn lambda(&mut self, parts: &mut Vec<Part>) {
        if self.weight > 100 {
            return self.declaration(parts);
        }
        let shape = self.rng.pick(&SHAPES);
        let name = self.fresh("f");
        let head = format!("{} {name} =", shape.interface);
        if self.rng.chance(20) {
            parts.push(Part::line(format!("{head} {};", shape.reference)));
        } else {
            if self.rng.chance(70) {
                let ty = Type::any(self.rng);
                let captured = self.fresh("c");
                let value = self.expression(ty, 2);
                let value =
                    if ty.is_small() { format!("({}) ({value})", ty.name()) } else { value };
                parts.push(Part::line(format!("final {} {captured} = {value};", ty.name())));
                self.locals.push(Local {
                    name: captured,
                    holds: Holds::Value(ty),
                    assignable: false,
                    capturable: true,
                });
            }
            let params: Vec<String> = (0..shape.params).map(|_| self.fresh("p")).collect();
            // It must stay within the stated cost of a call of it.
            let budget = std::mem::replace(&mut self.budget, LAMBDA_COST);
            let (cost, weight) =
                (std::mem::take(&mut self.cost), std::mem::replace(&mut self.weight, 1));
            let as_block = self.rng.chance(40);
            let inside = self.in_lambda(shape.ty, |body| {
                for param in &params {
                    body.declare(param, shape.ty, true);
                }
                let mut inside = if as_block { body.statements(2, 1) } else { Vec::new() };
                let result = body.expression(shape.ty, 2);
                inside.push(Part::line(format!("return {result};")));
                inside
            });
            self.budget = budget;
            self.cost = cost;
            self.weight = weight;
            let params = format!("({})", params.join(", "));
            match &inside[..] {
                [Part::Line(only)] if !as_block => {
                    let result = only.trim_start_matches("return ");
                    parts.push(Part::line(format!("{head} {params} -> {result}")));
                }
                _ => {
                    let bodies = vec![(format!("{head} {params} -> {{"), inside)];
                    parts.push(Part::Nest { bodies, end: "};".into() });
                }
            }
        }
        let holds = Holds::Lambda(shape);
        self.locals.push(Local { name, holds, assignable: false, capturable: true });
    }

    /// A call of the library that works on arrays.
    fn library(&mut self, parts: &mut Vec<Part>) {
        self.spend(16);
        let element = self.rng.pick(&Element::ALL);
        let (from, to) = (self.leaf(Type::Array(element)), self.leaf(Type::Array(element)));
        let line = match self.rng.below(4) {
            0 | 1 => {
                let (at, into) = match self.risks() {
                    true => (self.index(1), self.index(1)),
                    false => (self.rng.below(4).to_string(), self.rng.below(4).to_string()),
                };
                format!("System.arraycopy({from}, {at}, {to}, {into}, {});", self.rng.between(1, 4))
            }
            2 => {
                let value = self.expression(element.as_type(), 1);
                format!("Arrays.fill({to}, {value});")
            }
            _ => {
                let name = self.fresh("o");
                parts.push(Part::line(format!("Object[] {name} = {};", self.stored_into())));
                let (index, value) = (self.index(1), self.expression(Type::Object, 1));
                let value = if self.risks() { value } else { "null".into() };
                format!("{name}[{index}] = {value};")
            }
        };
        parts.push(Part::line(line));
    }

    /// An array whose exact class is not the type of its variable.
    fn stored_into(&mut self) -> String {
        let element = self.rng.pick(&[Element::Text, Element::Node, Element::Ints]);
        match self.rng.chance(25) {
            true => "new A[8]".into(),
            false => self.leaf(Type::Array(element)),
        }
    }

    /// Something that certainly or probably throws.
    fn mishap(&mut self) -> Part {
        self.spend(10);
        let int = self.operand(Type::Int, 1);
        let line = match self.rng.below(9) {
            0 => format!("if ({}) {{ throw new Oops({int}); }}", self.boolean(2)),
            1 => format!("mix({int} / ({} & 3));", self.operand(Type::Int, 1)),
            2 => format!("mix(1L % ({} & 3L));", self.operand(Type::Long, 1)),
            3 => {
                let array = parenthesized_new(self.leaf(Type::Array(Element::Int)));
                format!("mix({array}[{int} & 15]);")
            }
            4 => format!("mix(((A) {}).next == null ? 1 : 2);", self.operand(Type::Node, 1)),
            5 => format!(
                "mix((({}) {}).hashCode());",
                self.rng.pick(&["String", "Integer"]),
                self.operand(Type::Object, 1)
            ),
            6 => format!("mix(new int[({int}) % 4].length);"),
            7 => format!(
                "((Object[]) {})[{int} & 7] = {};",
                self.stored_into(),
                self.expression(Type::Object, 1)
            ),
            _ => format!("mix(none({int}).next == null ? 1 : 2);"),
        };
        Part::line(line)
    }

    /// Leaves the method or a loop, sometimes.
    fn leave(&mut self) -> Part {
        let condition = self.boolean(2);
        let label = match self.labels.is_empty() {
            true => None,
            false => Some(self.rng.pick(&self.labels.clone())),
        };
        let action = match label {
            Some(label) if self.rng.chance(75) => {
                let verb = if label.is_loop && self.rng.chance(50) { "continue" } else { "break" };
                format!("{verb} {};", label.name)
            }
            _ => format!("return {};", self.expression(self.ret, 2)),
        };
        Part::line(format!("if ({condition}) {{ {action} }}"))
    }

    fn condition(&mut self, depth: u32) -> Part {
        let condition = self.expression(Type::Boolean, 3);
        let mut bodies = vec![(format!("if ({condition}) {{"), self.block(depth))];
        if self.rng.chance(20) {
            let other = self.expression(Type::Boolean, 2);
            bodies.push((format!("}} else if ({other}) {{"), self.block(depth)));
        }
        if self.rng.chance(50) {
            bodies.push(("} else {".into(), self.block(depth)));
        }
        Part::Nest { bodies, end: "}".into() }
    }

    fn some_loop(&mut self, depth: u32, parts: &mut Vec<Part>) {
        let affordable = self.left() / self.weight / 12;
        let trips: Vec<u64> = TRIPS.into_iter().filter(|trips| *trips <= affordable).collect();
        if trips.is_empty() {
            return self.declaration(parts);
        }
        let trips = self.rng.pick(&trips);
        let label = self.fresh("L");
        let i = self.fresh("i");
        let (n, step) = (trips as usize, self.rng.between(1, 3));
        let mut end = "}".to_string();
        let mut counter = Some(Type::Int);
        let mut each = None;
        let head = match self.rng.below(16) {
            0..=4 => format!("for (int {i} = 0; {i} < {n}; {i}++) {{"),
            5 => format!("for (int {i} = {}; {i} >= 0; {i} -= {step}) {{", (n - 1) * step),
            6 => format!("for (int {i} = -{n}; {i} < {n}; {i} += 2) {{"),
            7 => {
                counter = Some(Type::Long);
                let start = self.rng.pick(&["0L", "-5L", "4294967290L", "-4294967300L"]);
                format!("for (long {i} = {start}; {i} < {start} + {n}; {i}++) {{")
            }
            8 => format!("for (int {i} = Integer.MAX_VALUE - {n}; {i} > 0; {i}++) {{"),
            9 => {
                counter = Some(Type::Byte);
                let start = 127 - n.min(100);
                format!("for (byte {i} = {start}; {i} > 0; {i}++) {{")
            }
            10 | 11 => {
                let array = self.fresh("a");
                let element = self.rng.pick(&Element::ALL);
                let value = self.expression(Type::Array(element), 2);
                let name = Type::Array(element).name();
                parts.push(Part::line(format!("final {name} {array} = {value};")));
                self.declare(&array, Type::Array(element), false);
                self.locals.last_mut().expect("just declared").capturable = true;
                each = Some((array.clone(), element));
                format!("for (int {i} = 0; {i} < {array}.length; {i}++) {{")
            }
            12 => {
                let element = self.rng.pick(&Element::ALL);
                let array = self.leaf(Type::Array(element));
                counter = Some(element.as_type());
                format!("for ({} {i} : {array}) {{", element.as_type().name())
            }
            13 | 14 => {
                parts.push(Part::line(format!("int {i} = {n};")));
                let also = match self.rng.chance(30) {
                    true => format!(" && {}", self.operand(Type::Boolean, 2)),
                    false => String::new(),
                };
                format!("while (--{i} > 0{also}) {{")
            }
            _ => {
                parts.push(Part::line(format!("int {i} = {n};")));
                end = format!("}} while (--{i} > 0);");
                "do {".into()
            }
        };
        // Arrays have up to sixteen elements, bounds are sometimes passed by one step.
        let trips = if each.is_some() || head.contains(':') { trips.max(16) } else { trips + 1 };
        let inside = self.repeated(trips, |body| {
            if let Some(ty) = counter {
                body.declare(&i, ty, false);
            }
            body.labels.push(Label { name: label.clone(), is_loop: true });
            let mut inside = Vec::new();
            if let Some((array, element)) = each {
                inside.extend(body.visit(&array, &i, element));
            }
            let count = body.rng.between(1, 4);
            inside.extend(body.statements(count, depth));
            inside
        });
        parts.push(Part::Nest { bodies: vec![(format!("{label}: {head}"), inside)], end });
    }

    /// Reads and writes the elements of an array that a loop iterates over.
    fn visit(&mut self, array: &str, index: &str, element: Element) -> Option<Part> {
        let ty = element.as_type();
        if !ty.is_number() {
            return None;
        }
        let value = self.expression(ty, 2);
        let line = match self.rng.below(4) {
            0 => format!("{array}[{index}] = ({}) ({value});", ty.name()),
            1 => format!("{array}[{index}] += {value};"),
            2 => format!("{array}[{array}.length - 1 - {index}] ^= {index};"),
            _ => format!("mix({array}[{index}]);"),
        };
        let is_fractional = !ty.is_integer() && line.contains("^=");
        Some(Part::line(if is_fractional { format!("{array}[{index}] *= 0.5f;") } else { line }))
    }

    fn switch(&mut self, depth: u32) -> Part {
        let mut bodies = Vec::new();
        let cases: Vec<String> = match self.rng.below(5) {
            0 => {
                bodies.push((format!("switch ({}) {{", self.expression(Type::Text, 2)), vec![]));
                ["\"one\"", "\"two\"", "\"Aa\"", "\"BB\"", "\"\""].map(String::from).to_vec()
            }
            1 => {
                let value = self.operand(Type::Int, 2);
                bodies.push((format!("switch (Kind.values()[{value} & 3]) {{"), vec![]));
                ["RED", "GREEN", "BLUE"].map(String::from).to_vec()
            }
            2 => {
                bodies.push((
                    format!("switch ((int) ({})) {{", self.expression(Type::Int, 2)),
                    vec![],
                ));
                ["0", "-1", "1000", "Integer.MIN_VALUE", "65536", "127", "-128"]
                    .map(String::from)
                    .to_vec()
            }
            _ => {
                let (value, mask) = (self.operand(Type::Int, 2), self.rng.pick(&[3, 7, 15]));
                bodies.push((format!("switch ({value} & {mask}) {{"), vec![]));
                let first = self.rng.below(3);
                (first..first + mask).map(|value| value.to_string()).collect()
            }
        };
        let count = self.rng.between(2, cases.len());
        for case in cases.iter().take(count) {
            let mut inside = self.block(depth);
            if self.rng.chance(70) {
                inside.push(Part::line("break;"));
            }
            bodies.push((format!("case {case}:"), inside));
        }
        if self.rng.chance(70) {
            bodies.push(("default:".into(), self.block(depth)));
        }
        Part::Nest { bodies, end: "}".into() }
    }

    fn attempt(&mut self, depth: u32) -> Part {
        self.spend(10);
        let guarded = std::mem::replace(&mut self.guarded, true);
        let mut bodies = vec![("try {".to_string(), self.block(depth))];
        self.guarded = guarded;
        let finally = self.rng.chance(35);
        let catches = match self.rng.below(4) {
            0 if finally => 0,
            3 => 2,
            _ => 1,
        };
        // The later ones are more general.
        let mut from = 0;
        for _ in 0..catches {
            let chosen = self.rng.between(from, CAUGHT.len() - 1);
            from = (chosen + 1).min(CAUGHT.len() - 1);
            if bodies.iter().any(|(head, _)| head.contains(CAUGHT[chosen])) {
                break;
            }
            let name = self.fresh("e");
            let note = if self.rng.chance(40) { "mixDeep" } else { "mix" };
            let mut inside = vec![Part::line(format!("{note}({name});"))];
            inside.extend(self.block(depth));
            if self.rng.chance(10) {
                inside.push(Part::line(format!("if ({}) {{ throw {name}; }}", self.boolean(1))));
            }
            bodies.push((format!("}} catch ({} {name}) {{", CAUGHT[chosen]), inside));
        }
        if finally || catches == 0 {
            bodies.push(("} finally {".into(), self.block(depth)));
        }
        Part::Nest { bodies, end: "}".into() }
    }

    fn lock(&mut self) -> String {
        match (self.this, self.rng.below(4)) {
            (Some(this), 0 | 1) => this.into(),
            (_, 2) => "LOCK".into(),
            (_, 3) => format!("NODES[{}]", self.rng.below(8)),
            _ => format!("node({})", self.expression(Type::Int, 1)),
        }
    }
}

/// The trip counts of loops.
const TRIPS: [u64; 9] = [2, 3, 4, 7, 10, 16, 33, 64, 120];

/// The caught classes, the special before the general.
const CAUGHT: [&str; 9] = [
    "Oops",
    "ArithmeticException",
    "NullPointerException",
    "ArrayIndexOutOfBoundsException",
    "ClassCastException",
    "NegativeArraySizeException | ArrayStoreException",
    "IndexOutOfBoundsException",
    "RuntimeException",
    "Throwable",
];
