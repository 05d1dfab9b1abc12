package suite;

/**
 * A simulated operating system: tasks of different kinds with priorities, which send each other messages and are
 * resumed by a scheduler. Virtual calls, linked queues, many small methods.
 */
public class Scheduler {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(100, size); i > 0; i--) {
                sum = sum * 31 + new Kernel(10_000).simulate();
            }
            return sum;
        });
    }

    private static final int TICKER = 0;
    private static final int CLERK = 1;
    private static final int PRINT_HANDLER = 2;
    private static final int DISK_HANDLER = 3;
    private static final int PRINTER = 4;
    private static final int DISK = 5;

    /** The subject of a message. */
    enum Topic { DEVICE, WORK }

    /** A message; it travels from mailbox to mailbox and comes back filled. */
    static final class Message {
        Message next;
        int owner;
        final Topic topic;
        int cursor;
        final char[] text = new char[4];

        Message(int owner, Topic topic, Message next) {
            this.owner = owner;
            this.topic = topic;
            this.next = next;
        }

        /** Puts this at the end of a queue and returns the queue's head. */
        Message appendTo(Message queue) {
            next = null;
            if (queue == null) {
                return this;
            }
            Message last = queue;
            while (last.next != null) {
                last = last.next;
            }
            last.next = this;
            return queue;
        }
    }

    /** A task: its place among the others, its mailbox, and its activity. */
    abstract static class Task {
        final Kernel kernel;
        final int id;
        final int priority;
        final Task following;
        Message mailbox;
        boolean pending;
        boolean waiting;
        boolean held;

        Task(Kernel kernel, int id, int priority, Message mailbox) {
            this.kernel = kernel;
            this.id = id;
            this.priority = priority;
            this.mailbox = mailbox;
            pending = mailbox != null;
            waiting = mailbox != null || id > CLERK;
            following = kernel.first;
            kernel.first = this;
            kernel.tasks[id] = this;
        }

        /** Takes one step, with a message if one came; returns the task that runs next. */
        abstract Task step(Message message);

        boolean cannotRun() {
            return held || (waiting && !pending);
        }

        /** Takes the message that this task waited for, if it did, and runs. */
        Task resume() {
            Message message = null;
            if (waiting && pending) {
                message = mailbox;
                mailbox = message.next;
                waiting = false;
                pending = mailbox != null;
            }
            return step(message);
        }

        Task await() {
            waiting = true;
            return this;
        }

        /** Gets a message from {@code sender}; the more urgent of the two continues. */
        Task receive(Message message, Task sender) {
            boolean empty = mailbox == null;
            mailbox = message.appendTo(mailbox);
            if (empty) {
                pending = true;
                if (priority > sender.priority) {
                    return this;
                }
            }
            return sender;
        }
    }

    /** Releases one of the two devices at each step, until it has had enough steps. */
    static final class Ticker extends Task {
        private int register = 1;
        private int left;

        Ticker(Kernel kernel, int steps) {
            super(kernel, TICKER, 0, null);
            left = steps;
        }

        @Override
        Task step(Message message) {
            if (--left == 0) {
                return kernel.hold();
            }
            boolean odd = (register & 1) != 0;
            register >>= 1;
            if (odd) {
                register ^= 0xB400;
            }
            return kernel.release(odd ? DISK : PRINTER);
        }
    }

    /** Fills work messages with letters and gives them to the handlers in turn. */
    static final class Clerk extends Task {
        private int destination = PRINT_HANDLER;
        private int letter;

        Clerk(Kernel kernel, Message mailbox) {
            super(kernel, CLERK, 1000, mailbox);
        }

        @Override
        Task step(Message message) {
            if (message == null) {
                return await();
            }
            destination = destination == PRINT_HANDLER ? DISK_HANDLER : PRINT_HANDLER;
            message.owner = destination;
            message.cursor = 0;
            for (int i = 0; i < message.text.length; i++) {
                letter = letter == 26 ? 1 : letter + 1;
                message.text[i] = (char) ('A' + letter - 1);
            }
            return kernel.send(message);
        }
    }

    /** Passes the letters of its work messages to a device, one by one. */
    static final class Handler extends Task {
        private final int device;
        private Message work;
        private Message carriers;

        Handler(Kernel kernel, int id, int priority, int device, Message mailbox) {
            super(kernel, id, priority, mailbox);
            this.device = device;
        }

        @Override
        Task step(Message message) {
            if (message != null) {
                if (message.topic == Topic.WORK) {
                    work = message.appendTo(work);
                } else {
                    carriers = message.appendTo(carriers);
                }
            }
            if (work != null) {
                Message head = work;
                if (head.cursor >= head.text.length) {
                    work = head.next;
                    head.owner = CLERK;
                    return kernel.send(head);
                }
                if (carriers != null) {
                    Message carrier = carriers;
                    carriers = carrier.next;
                    carrier.text[0] = head.text[head.cursor++];
                    carrier.owner = device;
                    return kernel.send(carrier);
                }
            }
            return await();
        }
    }

    /** Keeps a message until the ticker releases it. */
    static final class Device extends Task {
        private final int handler;
        private Message inHand;
        long written;

        Device(Kernel kernel, int id, int priority, int handler) {
            super(kernel, id, priority, null);
            this.handler = handler;
        }

        @Override
        Task step(Message message) {
            if (message != null) {
                inHand = message;
                written = written * 31 + message.text[0];
                return kernel.hold();
            }
            if (inHand == null) {
                return await();
            }
            Message finished = inHand;
            inHand = null;
            finished.owner = handler;
            return kernel.send(finished);
        }
    }

    /** The scheduler: tasks in order of priority, and counters. */
    static final class Kernel {
        final Task[] tasks = new Task[6];
        Task first;
        private Task current;
        private int sent;
        private int holds;
        private int switches;

        Kernel(int steps) {
            new Ticker(this, steps);
            new Clerk(this, messages(2, CLERK, Topic.WORK));
            new Handler(this, PRINT_HANDLER, 2000, PRINTER, messages(3, PRINTER, Topic.DEVICE));
            new Handler(this, DISK_HANDLER, 3000, DISK, messages(3, DISK, Topic.DEVICE));
            new Device(this, PRINTER, 4000, PRINT_HANDLER);
            new Device(this, DISK, 5000, DISK_HANDLER);
        }

        private static Message messages(int count, int owner, Topic topic) {
            Message all = null;
            for (int i = 0; i < count; i++) {
                all = new Message(owner, topic, all);
            }
            return all;
        }

        long simulate() {
            current = first;
            while (current != null) {
                if (current.cannotRun()) {
                    current = current.following;
                } else {
                    switches++;
                    current = current.resume();
                }
            }
            long written = ((Device) tasks[PRINTER]).written ^ ((Device) tasks[DISK]).written;
            return written + switches * 1_000_003L + sent * 1009L + holds;
        }

        Task send(Message message) {
            Task receiver = tasks[message.owner];
            sent++;
            message.owner = current.id;
            return receiver.receive(message, current);
        }

        Task hold() {
            holds++;
            current.held = true;
            return current.following;
        }

        Task release(int id) {
            Task task = tasks[id];
            task.held = false;
            return task.priority > current.priority ? task : current;
        }
    }
}
