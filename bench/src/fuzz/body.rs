//! The state while one method body is generated: what is in scope, and how long it will run.
//!
//! Every expression has a cost, multiplied by the trips of the loops around it. The cost of a body has a limit:
//! because of this, and because only finished methods are called, every program ends.

use super::plan::{Kind, Method, Plan, Shape};
use super::types::Type;
use crate::harness::rng::Rng;

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    pub holds: Holds,
    pub assignable: bool,
    /// Final: lambdas may use it.
    pub capturable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Value(Type),
    Lambda(Shape),
}

/// A statement that can be left by its label.
#[derive(Clone, Debug)]
pub struct Label {
    pub name: String,
    /// Can be continued.
    pub is_loop: bool,
}

pub struct Body<'a> {
    pub plan: &'a Plan,
    pub rng: &'a mut Rng,
    pub locals: Vec<Local>,
    pub labels: Vec<Label>,
    /// How the current `Node` is written, if there is one.
    pub this: Option<&'static str>,
    /// The type of a `return`'s value.
    pub ret: Type,
    /// Exceptions are caught near by, so more of them are risked.
    pub guarded: bool,
    /// The method itself, if it may call itself, and how often it still may.
    pub itself: Option<(Method, usize)>,
    /// The method that this one overrides, callable by `super`.
    pub overridden: Option<Method>,
    /// How often the code that is generated now runs in one call.
    pub weight: u64,
    pub cost: u64,
    pub budget: u64,
    names: u32,
}

impl<'a> Body<'a> {
    pub fn new(plan: &'a Plan, rng: &'a mut Rng, ret: Type, budget: u64) -> Body<'a> {
        Body {
            plan,
            rng,
            locals: Vec::new(),
            labels: Vec::new(),
            this: None,
            ret,
            guarded: false,
            itself: None,
            overridden: None,
            weight: 1,
            cost: 0,
            budget,
            names: 0,
        }
    }

    /// A name that no other local of the method has.
    pub fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn spend(&mut self, units: u64) {
        self.cost += self.weight * units;
    }

    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.cost)
    }

    /// Whether to do something that may throw.
    pub fn risks(&mut self) -> bool {
        let percent = if self.guarded { 12 } else { 1 };
        self.rng.chance(percent)
    }

    pub fn declare(&mut self, name: &str, ty: Type, assignable: bool) {
        self.locals.push(Local {
            name: name.to_string(),
            holds: Holds::Value(ty),
            assignable,
            capturable: false,
        });
    }

    pub fn locals_of(&self, ty: Type) -> Vec<String> {
        let fits = self.locals.iter().filter(|local| local.holds == Holds::Value(ty));
        fits.map(|local| local.name.clone()).collect()
    }

    /// Generates something in a scope of its own.
    pub fn scoped<T>(&mut self, generate: impl FnOnce(&mut Self) -> T) -> T {
        let (locals, labels) = (self.locals.len(), self.labels.len());
        let result = generate(self);
        self.locals.truncate(locals);
        self.labels.truncate(labels);
        result
    }

    /// Generates something that runs `trips` times as often as the code around it.
    pub fn repeated<T>(&mut self, trips: u64, generate: impl FnOnce(&mut Self) -> T) -> T {
        let weight = self.weight;
        self.weight *= trips.max(1);
        let result = self.scoped(generate);
        self.weight = weight;
        result
    }

    /// Generates the body of a lambda: only final locals are visible, labels are not.
    pub fn in_lambda<T>(&mut self, ret: Type, generate: impl FnOnce(&mut Self) -> T) -> T {
        let visible = self.locals.iter().filter(|local| local.capturable).cloned().collect();
        let locals = std::mem::replace(&mut self.locals, visible);
        let labels = std::mem::take(&mut self.labels);
        let ret = std::mem::replace(&mut self.ret, ret);
        let itself = self.itself.take();
        let result = generate(self);
        self.locals = locals;
        self.labels = labels;
        self.ret = ret;
        self.itself = itself;
        result
    }

    /// A finished method with this result that can still be afforded.
    pub fn callable(&mut self, ret: Type) -> Option<Method> {
        let affordable = self.left() / self.weight;
        let fits = |m: &&Method| m.ret == ret && m.cost <= affordable;
        let fitting: Vec<&Method> = self.plan.methods.iter().filter(fits).collect();
        if fitting.is_empty() {
            return None;
        }
        Some(self.rng.pick(&fitting).clone())
    }

    /// A call of a finished method.
    pub fn call(&mut self, method: &Method, depth: u32) -> String {
        self.spend(method.cost + CALL_COST);
        let mut arguments = Vec::new();
        if method.kind == Kind::Recursive {
            let limit = self.rng.between(1, RECURSION_MAX);
            let constant = self.rng.chance(50);
            arguments.push(if constant {
                limit.to_string()
            } else {
                format!("{} & {RECURSION_MAX}", self.operand(Type::Int, depth))
            });
        }
        for ty in &method.params {
            arguments.push(self.expression(*ty, depth));
        }
        let arguments = arguments.join(", ");
        let name = &method.name;
        match method.kind {
            Kind::Static | Kind::Recursive => format!("{name}({arguments})"),
            Kind::Virtual => {
                let receiver = self.receiver(depth);
                format!("{receiver}.{name}({arguments})")
            }
            // Subclasses do not inherit private members.
            Kind::Private => {
                let receiver = self.receiver(depth);
                format!("((Node) {receiver}).{name}({arguments})")
            }
            Kind::Interface => {
                let receiver = if self.risks() {
                    format!("((Face) {})", self.operand(Type::Node, depth))
                } else {
                    format!("face({})", self.expression(Type::Int, depth))
                };
                format!("{receiver}.{name}({arguments})")
            }
            Kind::Inner => {
                let receiver = self.receiver(depth);
                format!("{receiver}.new Inner().{name}({arguments})")
            }
        }
    }
}

/// The depth of recursive methods: a power of two, less one.
pub const RECURSION_MAX: usize = 7;

const CALL_COST: u64 = 3;
