import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.ListIterator;
import java.util.Random;
import java.util.Vector;

public class Lists {
    static void exercise(List<Integer> list) {
        for (int i = 0; i < 50; i++) {
            list.add(i * 7 % 50);
        }
        list.add(10, -1);
        list.remove(0);
        list.remove(Integer.valueOf(49));
        list.removeIf(x -> x % 3 == 0);
        list.replaceAll(x -> x + 1);
        Collections.sort(list);
        ListIterator<Integer> it = list.listIterator();
        while (it.hasNext()) {
            int x = it.next();
            if (x % 5 == 0) {
                it.remove();
            } else if (x % 7 == 0) {
                it.set(-x);
            } else if (x == 11) {
                it.add(1111);
            }
        }
        list.addAll(3, List.of(100, 200, 300));
        System.out.println(list.getClass().getSimpleName() + " " + list.size() + " " + list.hashCode()
            + " " + list.indexOf(200) + " " + list.lastIndexOf(5) + " " + list.contains(1111));
        System.out.println(list.subList(2, 8));
        list.subList(0, 5).clear();
        Collections.reverse(list);
        Collections.swap(list, 0, list.size() - 1);
        Collections.rotate(list, 3);
        Collections.shuffle(list, new Random(5));
        System.out.println(list);
    }

    public static void main(String[] args) {
        exercise(new ArrayList<>());
        exercise(new LinkedList<>());
        exercise(new Vector<>());
        exercise(Collections.synchronizedList(new ArrayList<>()));
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        try {
            for (Integer i : list) {
                list.add(i);
            }
        } catch (ConcurrentModificationException e) {
            System.out.println("concurrent modification");
        }
        try {
            List.of(1, 2).add(3);
        } catch (UnsupportedOperationException e) {
            System.out.println("immutable");
        }
        try {
            list.get(99);
        } catch (IndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        Iterator<Integer> it = list.iterator();
        try {
            it.remove();
        } catch (IllegalStateException e) {
            System.out.println("illegal state");
        }
        System.out.println(Collections.nCopies(3, "x") + " " + Collections.frequency(list, 1) + " "
            + Collections.max(list) + " " + Collections.binarySearch(List.of(1, 5, 9), 6) + " "
            + Collections.emptyList() + " " + Collections.disjoint(list, List.of(8)));
        System.out.println(Arrays.asList(3, 1, 2).toArray(new Integer[5])[3] + " " + list.equals(new LinkedList<>(list)));
    }
}
