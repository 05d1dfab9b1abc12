//! A whole random program.
//!
//! Its classes are always the same few; fields, methods and bodies are random. The program runs its last methods
//! thousands of times, so that a VM that compiles has to, mixes every result into a checksum, and prints the checksum
//! now and then and the exceptions that came up at the end.

use super::body::{Body, Label};
use super::plan::{CLASSES, Field, Kind, Method, Plan};
use super::tree::{self, Part};
use super::types::{Element, Type};
use crate::harness::rng::Rng;

/// A program, as parts that can be left out.
#[derive(Clone)]
pub struct Program {
    pub name: String,
    pub parts: Vec<Part>,
}

impl Program {
    /// The program of a seed: a class of the given name.
    pub fn generate(name: &str, seed: u64) -> Program {
        Builder::new(name, seed).build()
    }

    pub fn source(&self) -> String {
        tree::render(&self.parts)
    }
}

struct Builder {
    plan: Plan,
    rng: Rng,
    /// Members of the outer class, of `Face`, of `Node`, of `Node.Inner`, of each of `CLASSES`.
    outer: Vec<Part>,
    face: Vec<Part>,
    node: Vec<Part>,
    inner: Vec<Part>,
    classes: [Vec<Part>; CLASSES.len()],
}

/// The surroundings of a method's body.
#[derive(Clone)]
struct Frame {
    this: Option<&'static str>,
    overridden: Option<Method>,
    budget: u64,
}

impl Builder {
    fn new(name: &str, seed: u64) -> Builder {
        let plan = Plan { class: name.to_string(), ..Plan::default() };
        let rng = Rng::new(seed);
        let (outer, face, node, inner) = Default::default();
        Builder { plan, rng, outer, face, node, inner, classes: Default::default() }
    }

    fn build(mut self) -> Program {
        self.fields();
        let count = self.rng.between(5, 14);
        for number in 0..count {
            self.method(number);
        }
        let repeats = self.roots();
        let name = self.plan.class.clone();
        let mut members = vec![
            Part::line("enum Kind { RED, GREEN, BLUE, GREY }"),
            Part::line(format!("static final int REPEATS = {repeats};")),
        ];
        members.push(Part::block("interface Face {", self.face));
        self.node.push(Part::block("class Inner {", self.inner));
        self.node.extend(lines(NODE_MEMBERS));
        members.push(Part::block("static abstract class Node {", self.node));
        let heads = [
            "static class A extends Node implements Face {",
            "static class B extends A {",
            "static final class C extends Node implements Face {",
            "static class Odd extends Node {",
        ];
        for ((class, head), mut body) in CLASSES.iter().zip(heads).zip(self.classes) {
            body.push(Part::line(format!("{class}(int id) {{ super(id); }}")));
            members.push(Part::block(head, body));
        }
        members.extend(lines(HELPERS));
        members.extend(self.outer);
        members.extend(lines(MAIN));
        let mut parts = lines(IMPORTS);
        parts.push(Part::block(format!("public class {name} {{"), members));
        Program { name, parts }
    }

    fn fields(&mut self) {
        let count = self.rng.between(4, 10);
        for number in 0..count {
            let field = self.random_field(format!("s{number}"));
            let value = self.initial(field.ty);
            let volatile = if field.is_volatile { "volatile " } else { "" };
            let line = format!("static {volatile}{} {} = {value};", field.ty.name(), field.name);
            self.outer.push(Part::line(line));
            self.plan.statics.push(field);
        }
        // One array of each kind always exists.
        for element in Element::ALL {
            let (ty, name) = (Type::Array(element), format!("s{element:?}"));
            let value = match element {
                Element::Text => "texts()".into(),
                Element::Node => "NODES.clone()".into(),
                Element::Ints => "new int[16][8]".into(),
                _ => format!("new {}[16]", element.as_type().name()),
            };
            self.outer.push(Part::line(format!("static {} {name} = {value};", ty.name())));
            self.plan.statics.push(Field { name, ty, is_volatile: false });
        }
        let count = self.rng.between(3, 7);
        let mut arrays = 0;
        for number in 0..count {
            let mut field = self.random_field(format!("d{number}"));
            if matches!(field.ty, Type::Array(_)) {
                arrays += 1;
                // Nodes are made often; many arrays in each would take all the time.
                field.ty = if arrays > 1 { Type::Int } else { field.ty };
            }
            let value = self.initial(field.ty);
            let volatile = if field.is_volatile { "volatile " } else { "" };
            self.node.push(Part::line(format!(
                "{volatile}{} {} = {value};",
                field.ty.name(),
                field.name
            )));
            self.plan.fields.push(field);
        }
    }

    fn random_field(&mut self, name: String) -> Field {
        Field { name, ty: Type::any(&mut self.rng), is_volatile: self.rng.chance(12) }
    }

    /// The initial value of a field. The nodes do not exist yet.
    fn initial(&mut self, ty: Type) -> String {
        let mut body = Body::new(&self.plan, &mut self.rng, ty, 0);
        match ty {
            Type::Node => "null".into(),
            Type::Object => "\"start\"".into(),
            Type::Array(Element::Node) => "new Node[8]".into(),
            _ => body.constant(ty),
        }
    }

    fn method(&mut self, number: usize) {
        let kind = self.rng.weighted(&[
            (45, Kind::Static),
            (10, Kind::Recursive),
            (20, Kind::Virtual),
            (10, Kind::Interface),
            (8, Kind::Private),
            (7, Kind::Inner),
        ]);
        let ret = Type::any_in_signature(&mut self.rng);
        let count = self.rng.between(0, 4);
        let params = (0..count).map(|_| Type::any_in_signature(&mut self.rng)).collect();
        let mut method = Method { name: format!("m{number}"), kind, params, ret, cost: 0 };
        let mut frame = Frame { this: None, overridden: None, budget: self.rng.pick(&BUDGETS) };
        match kind {
            Kind::Static => {
                let part = self.body("static ", &mut method, frame);
                self.outer.push(part);
            }
            Kind::Recursive => {
                frame.budget = frame.budget.min(200);
                let part = self.body("static ", &mut method, frame);
                self.outer.push(part);
            }
            Kind::Private => {
                frame.this = Some("this");
                let part = self.body("private ", &mut method, frame);
                self.node.push(part);
            }
            Kind::Inner => {
                frame.this = Some("Node.this");
                let part = self.body("", &mut method, frame);
                self.inner.push(part);
            }
            Kind::Virtual => self.virtual_method(&mut method, frame),
            Kind::Interface => self.interface_method(&mut method, frame),
        }
        self.plan.methods.push(method);
    }

    fn virtual_method(&mut self, method: &mut Method, mut frame: Frame) {
        frame.this = Some("this");
        let concrete = self.rng.chance(40);
        if concrete {
            let part = self.body("", method, frame.clone());
            self.node.push(part);
        } else {
            self.node.push(Part::line(format!("abstract {};", signature(method))));
        }
        for (index, class) in CLASSES.iter().enumerate() {
            // B inherits from A, the others from Node.
            let inherits = concrete || *class == "B";
            if inherits && self.rng.chance(50) {
                continue;
            }
            let below = inherits && self.rng.chance(60);
            frame.overridden = below.then(|| method.clone());
            let part = self.body("", method, frame.clone());
            self.classes[index].push(part);
        }
    }

    fn interface_method(&mut self, method: &mut Method, mut frame: Frame) {
        let has_default = self.rng.chance(40);
        if has_default {
            let part = self.body("default ", method, frame.clone());
            self.face.push(part);
        } else {
            self.face.push(Part::line(format!("{};", signature(method))));
        }
        frame.this = Some("this");
        for (index, class) in CLASSES.iter().enumerate() {
            let optional = has_default || *class == "B";
            if *class == "Odd" || optional && self.rng.chance(50) {
                continue;
            }
            let part = self.body("public ", method, frame.clone());
            self.classes[index].push(part);
        }
    }

    /// A body for the method, whose cost grows to that of the body.
    fn body(&mut self, modifiers: &str, method: &mut Method, frame: Frame) -> Part {
        let synchronized = self.rng.chance(8) && modifiers != "default ";
        let count = self.rng.between(1, 7);
        let mut body = Body::new(&self.plan, &mut self.rng, method.ret, frame.budget);
        body.this = frame.this;
        body.overridden = frame.overridden;
        if method.kind == Kind::Recursive {
            body.declare("depth", Type::Int, false);
            body.itself = Some((method.clone(), 2));
        }
        for (number, ty) in method.params.iter().enumerate() {
            body.declare(&format!("q{number}"), *ty, true);
        }
        let mut parts = body.statements(count, 3);
        let result = body.expression(method.ret, 3);
        parts.push(Part::line(format!("return {result};")));
        let calls_left = body.itself.as_ref().map_or(2, |(_, times)| *times);
        let times = match calls_left {
            0 => 255,
            1 => 8,
            _ => 1,
        };
        method.cost = method.cost.max(body.cost.max(1) * times);
        let modifiers = format!("{modifiers}{}", if synchronized { "synchronized " } else { "" });
        Part::block(format!("{modifiers}{} {{", signature(method)), parts)
    }

    /// The method that calls others again and again; returns how often it is to run.
    fn roots(&mut self) -> u64 {
        let mut tries = Vec::new();
        let mut cost = 0;
        let methods: Vec<Method> = self.plan.methods.iter().rev().take(4).cloned().collect();
        for method in &methods {
            let mut body = Body::new(&self.plan, &mut self.rng, Type::Int, u64::MAX);
            body.declare("i", Type::Int, false);
            body.labels.push(Label { name: "none".into(), is_loop: false });
            let call = body.call(method, 1);
            let call = match method.ret {
                Type::Node | Type::Object | Type::Array(_) => format!("mix(show({call}));"),
                _ => format!("mix({call});"),
            };
            cost += body.cost;
            tries.push(Part::Nest {
                bodies: vec![
                    ("try {".into(), vec![Part::line(call)]),
                    ("} catch (Throwable e) {".into(), vec![Part::line("note(e);")]),
                ],
                end: "}".into(),
            });
        }
        self.outer.push(Part::block("static void step(int i) {", tries));
        (TOTAL_COST / cost.max(1)).clamp(1500, 30_000)
    }
}

fn signature(method: &Method) -> String {
    let mut params: Vec<String> = Vec::new();
    if method.kind == Kind::Recursive {
        params.push("int depth".into());
    }
    for (number, ty) in method.params.iter().enumerate() {
        params.push(format!("{} q{number}", ty.name()));
    }
    format!("{} {}({})", method.ret.name(), method.name, params.join(", "))
}

/// Fixed members, which are separated by empty lines.
fn lines(text: &str) -> Vec<Part> {
    text.split("\n\n").map(Part::line).collect()
}

/// The budget of a body.
const BUDGETS: [u64; 5] = [60, 200, 600, 2000, 5000];

/// The intended cost of a program, in expressions; the interpreter takes about a second for it.
const TOTAL_COST: u64 = 25_000_000;

const IMPORTS: &str = "\
import java.util.Arrays;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;";

const NODE_MEMBERS: &str = "\
final int id;

Node next;

Node(int id) { this.id = id; next = NODES[id & 7]; }

public String toString() { return getClass().getSimpleName() + id; }";

const HELPERS: &str = r#"static class Oops extends RuntimeException {
    Oops(int code) { super("oops " + code); }
}

static final Object LOCK = new Object();

static final Node[] NODES = new Node[8];

static final Face[] FACES = new Face[4];

static long sum;

static final TreeMap<String, Integer> CAUGHT = new TreeMap<>();

static {
    for (int i = 0; i < 8; i++) {
        NODES[i] = switch (i % 5) {
            case 0, 4 -> new A(i);
            case 1 -> new B(i);
            case 2 -> new C(i);
            default -> new Odd(i);
        };
    }
    for (int i = 0; i < 8; i++) {
        NODES[i].next = NODES[(i * 3 + 1) & 7];
    }
    for (int i = 0; i < 4; i++) {
        FACES[i] = switch (i) { case 0 -> new A(10); case 1 -> new B(11); default -> new C(10 + i); };
    }
}

static Node node(int i) { return NODES[i & 7]; }

static Face face(int i) { return FACES[i & 3]; }

static Node none(int i) { return null; }

static String[] texts() { return new String[] {"one", "two", "", "four", "five", "\u00e9", "seven", "eight"}; }

static String cut(String text) { return text.length() > 24 ? text.substring(0, 24) : text; }

static char at(String text, int i) {
    return text == null || text.isEmpty() ? '?' : text.charAt((i >>> 1) % text.length());
}

static int sumOf(int... values) {
    int sum = values.length;
    for (int value : values) {
        sum = sum * 31 + value;
    }
    return sum;
}

static String show(Object o) {
    if (o instanceof Object[] array) {
        return array.getClass().getSimpleName() + array.length;
    }
    if (o instanceof int[] array) {
        return "ints" + Arrays.hashCode(array);
    }
    return o == null || !o.getClass().isArray() ? cut(String.valueOf(o)) : o.getClass().getSimpleName();
}

static void mix(long value) { sum = sum * 31 + value; }

static void mix(int value) { sum = sum * 31 + value; }

static void mix(double value) { mix(Double.doubleToLongBits(value)); }

static void mix(float value) { mix(Float.floatToIntBits(value)); }

static void mix(boolean value) { mix(value ? 1231 : 1237); }

static void mix(String value) { mix(value == null ? 7 : value.hashCode()); }

static void mix(Throwable e) { mix(e.getClass().getName()); }

static void mixDeep(Throwable e) {
    mix(e);
    mix(e.getMessage());
    StackTraceElement[] trace = e.getStackTrace();
    mix(trace.length);
    mix(trace[0].getMethodName());
    mix(trace[0].getLineNumber());
}

static void note(Throwable e) {
    mixDeep(e);
    CAUGHT.merge(e.getClass().getName(), 1, Integer::sum);
}"#;

const MAIN: &str = r#"public static void main(String[] args) {
    for (int i = 0; i < REPEATS; i++) {
        step(i);
        if (i < 3 || i % (REPEATS / 16 + 1) == 0) {
            System.out.println(i + " " + Long.toHexString(sum));
        }
    }
    System.out.println(Long.toHexString(sum) + " " + CAUGHT);
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_program() {
        let first = Program::generate("F1", 7).source();
        assert_eq!(first, Program::generate("F1", 7).source());
        assert_ne!(first, Program::generate("F1", 8).source());
    }
}
