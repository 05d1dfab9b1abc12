import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedList;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import java.util.Stack;

public class QueuesAndDeques {
    record Task(int priority, String name) {}

    public static void main(String[] args) {
        for (Deque<Integer> d : new Deque[] {new ArrayDeque<Integer>(), new LinkedList<Integer>()}) {
            for (int i = 0; i < 100; i++) {
                if (i % 3 == 0) {
                    d.addFirst(i);
                } else {
                    d.addLast(i);
                }
                if (i % 7 == 0) {
                    d.pollLast();
                }
            }
            System.out.println(d.size() + " " + d.peekFirst() + " " + d.peekLast() + " " + d.pop() + " " + d.hashCode() % 1);
            d.push(500);
            d.removeFirstOccurrence(51);
            int sum = 0;
            for (java.util.Iterator<Integer> it = d.descendingIterator(); it.hasNext();) {
                sum = sum * 31 + it.next();
            }
            System.out.println(sum);
        }
        PriorityQueue<Task> queue = new PriorityQueue<>((a, b) -> a.priority() - b.priority());
        for (int i = 0; i < 40; i++) {
            queue.add(new Task(i * 17 % 40, "t" + i));
        }
        queue.remove(new Task(0, "t0"));
        StringBuilder sb = new StringBuilder();
        while (queue.size() > 30) {
            sb.append(queue.poll().name()).append(' ');
        }
        System.out.println(sb + " " + queue.peek());
        PriorityQueue<String> reversed = new PriorityQueue<>(Collections.reverseOrder());
        Collections.addAll(reversed, "a", "c", "b");
        System.out.println(reversed.poll() + reversed.poll() + reversed.poll() + reversed.poll());
        Stack<Integer> stack = new Stack<>();
        stack.push(1);
        stack.push(2);
        System.out.println(stack.search(1) + " " + stack.pop() + stack.peek() + stack);
        try {
            new ArrayDeque<String>().removeFirst();
        } catch (NoSuchElementException e) {
            System.out.println("empty deque");
        }
        try {
            new ArrayDeque<String>().add(null);
        } catch (NullPointerException e) {
            System.out.println("null refused");
        }
    }
}
