// vm: -XX:-UseCountedLoopSafepoints -XX:LoopStripMiningIter=5
// compare: stdout,exit
import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import java.lang.management.ManagementFactory;

/** Options that follow others have the value that they came out with, not the one that was given. */
public class FollowingOptions {
    public static void main(String[] args) {
        HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        for (String name : new String[] {"UseCountedLoopSafepoints", "LoopStripMiningIter", "LoopStripMiningIterShortLoop"}) {
            VMOption option = bean.getVMOption(name);
            System.out.println(name + " " + option.getValue() + " " + option.getOrigin());
        }
    }
}
