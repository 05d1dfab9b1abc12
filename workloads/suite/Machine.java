package suite;

import java.util.ArrayList;
import java.util.List;

/** An interpreter of a small stack machine, with an assembler; its programs are loops, calls and array accesses. */
public class Machine {
    private static final int PUSH = 0;
    private static final int LOAD = 1;
    private static final int STORE = 2;
    private static final int ADD = 3;
    private static final int SUB = 4;
    private static final int MUL = 5;
    private static final int MOD = 6;
    private static final int LESS = 7;
    private static final int JUMP = 8;
    private static final int JUMP_IF_ZERO = 9;
    private static final int CALL = 10;
    private static final int RETURN = 11;
    private static final int GET = 12;
    private static final int PUT = 13;
    private static final int DUP = 14;
    private static final int XOR = 15;
    private static final int HALT = 16;

    public static void main(String[] args) {
        int[] fibonacci = fibonacci();
        int[] sieve = sieve();
        int[] mixer = mixer();
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(45, size); i > 0; i--) {
                sum = sum * 31 + new Run(fibonacci, 20).toEnd();
                sum = sum * 31 + new Run(sieve, 8000).toEnd();
                sum = sum * 31 + new Run(mixer, 20_000 + i).toEnd();
            }
            return sum;
        });
    }

    /** Programs are written with labels, which become addresses at the end. */
    static final class Assembler {
        private final List<Integer> code = new ArrayList<>();
        private final List<Integer> labels = new ArrayList<>();
        private final List<Integer> fixes = new ArrayList<>();

        Assembler op(int op) {
            code.add(op);
            return this;
        }

        Assembler op(int op, int operand) {
            code.add(op);
            code.add(operand);
            return this;
        }

        int label() {
            labels.add(-1);
            return labels.size() - 1;
        }

        Assembler here(int label) {
            labels.set(label, code.size());
            return this;
        }

        Assembler jump(int op, int label) {
            code.add(op);
            fixes.add(code.size());
            code.add(label);
            return this;
        }

        int[] finish() {
            int[] result = code.stream().mapToInt(Integer::intValue).toArray();
            for (int at : fixes) {
                result[at] = labels.get(result[at]);
            }
            return result;
        }
    }

    /** The argument is in variable 0; the result is left on the stack. */
    private static int[] fibonacci() {
        Assembler a = new Assembler();
        int function = a.label();
        int recurse = a.label();
        a.op(LOAD, 0).jump(CALL, function).op(HALT);
        // The function takes its argument from the stack and keeps a copy on it over the first call.
        a.here(function).op(DUP).op(PUSH, 2).op(LESS).jump(JUMP_IF_ZERO, recurse).op(RETURN);
        a.here(recurse).op(DUP).op(PUSH, 1).op(SUB).jump(CALL, function).op(STORE, 9);
        a.op(PUSH, 2).op(SUB).op(LOAD, 9).op(STORE, 1);
        // Partial results wait in the array, used as a stack by variable 2.
        a.op(LOAD, 2).op(LOAD, 1).op(PUT).op(LOAD, 2).op(PUSH, 1).op(ADD).op(STORE, 2);
        a.jump(CALL, function);
        a.op(LOAD, 2).op(PUSH, 1).op(SUB).op(DUP).op(STORE, 2).op(GET).op(ADD).op(RETURN);
        return a.finish();
    }

    private static int[] sieve() {
        Assembler a = new Assembler();
        int outer = a.label();
        int inner = a.label();
        int next = a.label();
        int done = a.label();
        a.op(PUSH, 2).op(STORE, 1).op(PUSH, 0).op(STORE, 3);
        a.here(outer).op(LOAD, 1).op(LOAD, 0).op(LESS).jump(JUMP_IF_ZERO, done);
        a.op(PUSH, 1).op(LOAD, 1).op(GET).op(SUB).jump(JUMP_IF_ZERO, next);
        a.op(LOAD, 3).op(LOAD, 1).op(ADD).op(STORE, 3);
        a.op(LOAD, 1).op(LOAD, 1).op(ADD).op(STORE, 2);
        a.here(inner).op(LOAD, 2).op(LOAD, 0).op(LESS).jump(JUMP_IF_ZERO, next);
        a.op(LOAD, 2).op(PUSH, 1).op(PUT).op(LOAD, 2).op(LOAD, 1).op(ADD).op(STORE, 2);
        a.jump(JUMP, inner);
        a.here(next).op(LOAD, 1).op(PUSH, 1).op(ADD).op(STORE, 1).jump(JUMP, outer);
        a.here(done).op(LOAD, 3).op(HALT);
        return a.finish();
    }

    private static int[] mixer() {
        Assembler a = new Assembler();
        int loop = a.label();
        int done = a.label();
        a.op(LOAD, 0).op(STORE, 1);
        a.here(loop).op(LOAD, 0).jump(JUMP_IF_ZERO, done);
        a.op(LOAD, 1).op(PUSH, 1_103_515_245).op(MUL).op(PUSH, 12_345).op(ADD).op(LOAD, 0).op(XOR).op(STORE, 1);
        a.op(LOAD, 1).op(PUSH, 1000).op(MOD).op(LOAD, 2).op(ADD).op(STORE, 2);
        a.op(LOAD, 0).op(PUSH, 1).op(SUB).op(STORE, 0).jump(JUMP, loop);
        a.here(done).op(LOAD, 2).op(HALT);
        return a.finish();
    }

    /** The state of a running program. */
    static final class Run {
        private final int[] code;
        private final int[] stack = new int[256];
        private final int[] calls = new int[256];
        private final int[] variables = new int[16];
        private final int[] memory = new int[8192];

        Run(int[] code, int argument) {
            this.code = code;
            variables[0] = argument;
        }

        int toEnd() {
            int at = 0;
            int top = -1;
            int depth = 0;
            while (true) {
                switch (code[at++]) {
                    case PUSH:
                        stack[++top] = code[at++];
                        break;
                    case LOAD:
                        stack[++top] = variables[code[at++]];
                        break;
                    case STORE:
                        variables[code[at++]] = stack[top--];
                        break;
                    case ADD:
                        top--;
                        stack[top] += stack[top + 1];
                        break;
                    case SUB:
                        top--;
                        stack[top] -= stack[top + 1];
                        break;
                    case MUL:
                        top--;
                        stack[top] *= stack[top + 1];
                        break;
                    case MOD:
                        top--;
                        stack[top] %= stack[top + 1];
                        break;
                    case LESS:
                        top--;
                        stack[top] = stack[top] < stack[top + 1] ? 1 : 0;
                        break;
                    case JUMP:
                        at = code[at];
                        break;
                    case JUMP_IF_ZERO:
                        at = stack[top--] == 0 ? code[at] : at + 1;
                        break;
                    case CALL:
                        calls[depth++] = at + 1;
                        at = code[at];
                        break;
                    case RETURN:
                        at = calls[--depth];
                        break;
                    case GET:
                        stack[top] = memory[stack[top]];
                        break;
                    case PUT:
                        memory[stack[top - 1]] = stack[top];
                        top -= 2;
                        break;
                    case DUP:
                        stack[top + 1] = stack[top];
                        top++;
                        break;
                    case XOR:
                        top--;
                        stack[top] ^= stack[top + 1];
                        break;
                    case HALT:
                        return stack[top];
                    default:
                        throw new IllegalStateException("no such operation: " + code[at - 1]);
                }
            }
        }
    }
}
