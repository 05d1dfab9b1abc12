import java.util.Observable;
import java.util.Observer;
import java.util.StringJoiner;
import java.util.EventListener;
import java.util.EventObject;
import java.beans.PropertyChangeSupport;

public class Observers {
    static class Source {
        final PropertyChangeSupport support = new PropertyChangeSupport(this);
        int value;

        void set(int v) {
            int old = value;
            value = v;
            support.firePropertyChange("value", old, v);
        }
    }

    @SuppressWarnings("deprecation")
    public static void main(String[] args) {
        Source s = new Source();
        StringJoiner log = new StringJoiner(";");
        s.support.addPropertyChangeListener(e -> log.add(e.getPropertyName() + e.getOldValue() + ">" + e.getNewValue()));
        s.set(1);
        s.set(1);
        s.set(5);
        System.out.println(log);
        class Subject extends Observable {
            void poke(Object o) {
                setChanged();
                notifyObservers(o);
            }
        }
        Subject subject = new Subject();
        Observer observer = (o, arg) -> System.out.println("observed " + arg + " " + (o == subject));
        subject.addObserver(observer);
        subject.poke("event");
        System.out.println(subject.countObservers() + " " + new EventObject("source").getSource() + " " + EventListener.class.isInterface());
    }
}
