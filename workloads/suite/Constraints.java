package suite;

import java.util.ArrayList;
import java.util.List;

/**
 * An incremental solver of one-way constraints with strengths: a graph of cells and rules is changed all the time,
 * and the solver keeps the strongest rules satisfied. Small objects, interfaces, lists, deep call chains.
 */
public class Constraints {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(20, size); i > 0; i--) {
                sum = sum * 31 + chain(500);
                sum = sum * 31 + projection(500);
            }
            return sum;
        });
    }

    /** A long chain of equalities with a strong rule at its end; edits at the front reach the end. */
    private static long chain(int length) {
        Solver solver = new Solver();
        Cell[] cells = new Cell[length + 1];
        for (int i = 0; i <= length; i++) {
            cells[i] = new Cell("c" + i, 0);
        }
        for (int i = 0; i < length; i++) {
            solver.add(new Equality(cells[i], cells[i + 1], Strength.REQUIRED));
        }
        solver.add(new Stay(cells[length], Strength.STRONG_DEFAULT));
        Edit edit = new Edit(cells[0], Strength.PREFERRED);
        solver.add(edit);
        Plan plan = solver.planFrom(edit);
        for (int value = 0; value < 100; value++) {
            cells[0].value = value;
            plan.execute();
            if (cells[length].value != value) {
                throw new IllegalStateException("the chain is broken: " + cells[length].value);
            }
        }
        solver.remove(edit);
        return cells[length].value * 31L + solver.steps;
    }

    /** Many pairs related by a scale and an offset; changing either side or the scale moves the other side. */
    private static long projection(int pairs) {
        Solver solver = new Solver();
        Cell scale = new Cell("scale", 10);
        Cell offset = new Cell("offset", 1000);
        List<Cell> outputs = new ArrayList<>();
        Cell input = null;
        Cell output = null;
        for (int i = 0; i < pairs; i++) {
            input = new Cell("in" + i, i);
            output = new Cell("out" + i, i);
            outputs.add(output);
            solver.add(new Stay(input, Strength.DEFAULT));
            solver.add(new Linear(input, scale, offset, output, Strength.REQUIRED));
        }
        solver.set(input, 17);
        expect(output.value == 1170);
        solver.set(output, 1050);
        expect(input.value == 5);
        solver.set(scale, 5);
        for (int i = 0; i < pairs - 1; i++) {
            expect(outputs.get(i).value == i * 5 + 1000);
        }
        solver.set(offset, 2000);
        long sum = 0;
        for (Cell cell : outputs) {
            sum = sum * 31 + cell.value;
        }
        return sum * 31 + solver.steps;
    }

    private static void expect(boolean holds) {
        if (!holds) {
            throw new IllegalStateException("the solver is wrong");
        }
    }

    /** How much a rule counts, the strongest first. */
    enum Strength {
        REQUIRED, STRONG_PREFERRED, PREFERRED, STRONG_DEFAULT, DEFAULT, WEAKEST;

        boolean strongerThan(Strength other) {
            return ordinal() < other.ordinal();
        }

        static Strength weaker(Strength a, Strength b) {
            return a.ordinal() > b.ordinal() ? a : b;
        }
    }

    /** A value, the rules that mention it, and the rule that determines it now. */
    static final class Cell {
        final String name;
        int value;
        final ArrayList<Rule> rules = new ArrayList<>();
        Rule determinedBy;
        int mark;
        /** The weakest strength that would have to be overridden to change the value. */
        Strength walkabout = Strength.WEAKEST;
        boolean constant = true;

        Cell(String name, int value) {
            this.name = name;
            this.value = value;
        }

        @Override
        public String toString() {
            return name + "=" + value;
        }
    }

    /** A relation between cells, which can be satisfied by computing one of them. */
    abstract static class Rule {
        final Strength strength;

        Rule(Strength strength) {
            this.strength = strength;
        }

        abstract boolean satisfied();

        /** Chooses which cell to compute, if the rule can win; marks identify cells already decided. */
        abstract void choose(int mark);

        abstract void clear();

        abstract Cell output();

        abstract int inputs();

        abstract Cell input(int index);

        abstract void compute();

        abstract Iterable<Cell> cells();

        boolean isEdit() {
            return false;
        }

        boolean inputsKnown(int mark) {
            for (int i = 0; i < inputs(); i++) {
                Cell cell = input(i);
                if (cell.mark != mark && !cell.constant && cell.determinedBy != null) {
                    return false;
                }
            }
            return true;
        }

        /** Passes strength and constancy on to the output. */
        void propagateStrength() {
            Cell out = output();
            Strength weakest = strength;
            boolean constant = !isEdit();
            for (int i = 0; i < inputs(); i++) {
                weakest = Strength.weaker(weakest, input(i).walkabout);
                constant &= input(i).constant;
            }
            out.walkabout = weakest;
            out.constant = constant;
            if (constant) {
                compute();
            }
        }
    }

    /** A rule about one cell. */
    abstract static class Unary extends Rule {
        final Cell cell;
        private boolean satisfied;

        Unary(Cell cell, Strength strength) {
            super(strength);
            this.cell = cell;
        }

        @Override
        boolean satisfied() {
            return satisfied;
        }

        @Override
        void choose(int mark) {
            satisfied = cell.mark != mark && strength.strongerThan(cell.walkabout);
        }

        @Override
        void clear() {
            satisfied = false;
        }

        @Override
        Cell output() {
            return cell;
        }

        @Override
        int inputs() {
            return 0;
        }

        @Override
        Cell input(int index) {
            throw new IndexOutOfBoundsException(index);
        }

        @Override
        void compute() {}

        @Override
        Iterable<Cell> cells() {
            return List.of(cell);
        }
    }

    /** The cell keeps its value. */
    static final class Stay extends Unary {
        Stay(Cell cell, Strength strength) {
            super(cell, strength);
        }
    }

    /** The cell is set from outside. */
    static final class Edit extends Unary {
        Edit(Cell cell, Strength strength) {
            super(cell, strength);
        }

        @Override
        boolean isEdit() {
            return true;
        }
    }

    /** A rule between two cells that can be computed either way. */
    abstract static class TwoWay extends Rule {
        final Cell left;
        final Cell right;
        private Cell target;

        TwoWay(Cell left, Cell right, Strength strength) {
            super(strength);
            this.left = left;
            this.right = right;
        }

        @Override
        boolean satisfied() {
            return target != null;
        }

        @Override
        void choose(int mark) {
            Cell weaker = left.walkabout.strongerThan(right.walkabout) ? right : left;
            if (left.mark == mark) {
                weaker = right.mark == mark ? null : right;
            } else if (right.mark == mark) {
                weaker = left;
            }
            target = weaker != null && strength.strongerThan(weaker.walkabout) ? weaker : null;
        }

        @Override
        void clear() {
            target = null;
        }

        @Override
        Cell output() {
            return target;
        }

        Cell source() {
            return target == left ? right : left;
        }

        @Override
        int inputs() {
            return 1;
        }

        @Override
        Cell input(int index) {
            return source();
        }

        @Override
        Iterable<Cell> cells() {
            return List.of(left, right);
        }
    }

    /** Both cells are equal. */
    static final class Equality extends TwoWay {
        Equality(Cell left, Cell right, Strength strength) {
            super(left, right, strength);
        }

        @Override
        void compute() {
            output().value = source().value;
        }
    }

    /** right = left * scale + offset. */
    static final class Linear extends TwoWay {
        private final Cell scale;
        private final Cell offset;

        Linear(Cell left, Cell scale, Cell offset, Cell right, Strength strength) {
            super(left, right, strength);
            this.scale = scale;
            this.offset = offset;
        }

        @Override
        int inputs() {
            return 3;
        }

        @Override
        Cell input(int index) {
            return switch (index) {
                case 0 -> source();
                case 1 -> scale;
                default -> offset;
            };
        }

        @Override
        void compute() {
            if (output() == right) {
                right.value = left.value * scale.value + offset.value;
            } else {
                left.value = (right.value - offset.value) / scale.value;
            }
        }

        @Override
        Iterable<Cell> cells() {
            return List.of(left, scale, offset, right);
        }
    }

    /** Rules in an order in which they can be computed. */
    static final class Plan {
        private final List<Rule> order = new ArrayList<>();

        void execute() {
            for (Rule rule : order) {
                rule.compute();
            }
        }
    }

    /** Adds and removes rules, one at a time. */
    static final class Solver {
        private int mark;
        long steps;

        void add(Rule rule) {
            for (Cell cell : rule.cells()) {
                cell.rules.add(rule);
            }
            satisfy(rule);
        }

        /** Satisfies the rule, then the ones that it pushed out, and so on. */
        private void satisfy(Rule rule) {
            mark++;
            for (Rule next = rule; next != null; ) {
                next = enforce(next);
            }
        }

        /** Makes the rule determine its output, if it can; returns the rule that did so before. */
        private Rule enforce(Rule rule) {
            steps++;
            rule.choose(mark);
            if (!rule.satisfied()) {
                if (rule.strength == Strength.REQUIRED) {
                    throw new IllegalStateException("a required rule cannot be satisfied");
                }
                return null;
            }
            for (int i = 0; i < rule.inputs(); i++) {
                rule.input(i).mark = mark;
            }
            Cell out = rule.output();
            Rule pushed = out.determinedBy;
            if (pushed != null) {
                pushed.clear();
            }
            out.determinedBy = rule;
            propagate(rule);
            out.mark = mark;
            return pushed;
        }

        /** Passes strengths and constant values on to everything downstream. */
        private void propagate(Rule from) {
            ArrayList<Rule> open = new ArrayList<>();
            open.add(from);
            while (!open.isEmpty()) {
                Rule rule = open.remove(open.size() - 1);
                if (rule.output().mark == mark) {
                    throw new IllegalStateException("a cycle of rules");
                }
                steps++;
                rule.propagateStrength();
                addConsumers(rule.output(), open);
            }
        }

        private static void addConsumers(Cell cell, List<Rule> to) {
            Rule by = cell.determinedBy;
            for (Rule rule : cell.rules) {
                if (rule != by && rule.satisfied()) {
                    to.add(rule);
                }
            }
        }

        /** Removes a rule; weaker ones that it had kept out get their chance, the strongest first. */
        void remove(Rule rule) {
            for (Cell cell : rule.cells()) {
                cell.rules.remove(rule);
            }
            if (!rule.satisfied()) {
                return;
            }
            Cell out = rule.output();
            rule.clear();
            List<Rule> idle = release(out);
            for (Strength strength : Strength.values()) {
                for (Rule candidate : idle) {
                    if (candidate.strength == strength && !candidate.satisfied()) {
                        satisfy(candidate);
                    }
                }
            }
        }

        private List<Rule> release(Cell out) {
            out.determinedBy = null;
            out.walkabout = Strength.WEAKEST;
            out.constant = true;
            List<Rule> idle = new ArrayList<>();
            ArrayList<Cell> open = new ArrayList<>();
            open.add(out);
            while (!open.isEmpty()) {
                Cell cell = open.remove(open.size() - 1);
                for (Rule rule : cell.rules) {
                    if (!rule.satisfied()) {
                        idle.add(rule);
                    } else if (rule != cell.determinedBy) {
                        rule.propagateStrength();
                        open.add(rule.output());
                    }
                }
                steps++;
            }
            return idle;
        }

        /** The cells to compute, in their order, when the cell of {@code edit} changes. */
        Plan planFrom(Rule edit) {
            Plan plan = new Plan();
            ArrayList<Rule> open = new ArrayList<>();
            if (edit.satisfied()) {
                open.add(edit);
            }
            mark++;
            while (!open.isEmpty()) {
                Rule rule = open.remove(open.size() - 1);
                Cell out = rule.output();
                if (out.mark != mark && rule.inputsKnown(mark)) {
                    plan.order.add(rule);
                    out.mark = mark;
                    addConsumers(out, open);
                }
            }
            return plan;
        }

        /** Sets a cell from outside, a few times, and releases it again. */
        void set(Cell cell, int value) {
            Edit edit = new Edit(cell, Strength.PREFERRED);
            add(edit);
            Plan plan = planFrom(edit);
            for (int i = 0; i < 10; i++) {
                cell.value = value;
                plan.execute();
            }
            remove(edit);
        }
    }
}
