//! Help texts.

use gc::options::CollectorKind;

pub const COMMANDS: &str = "\
usage: vm run [options] <main class> [arguments]   run a Java program; `vm run --help` lists the options
       vm collectors                               list the collectors
       vm --version
";

pub fn run() -> String {
    let collectors: Vec<&str> = CollectorKind::ALL.iter().map(|kind| kind.name()).collect();
    let collectors = collectors.join("|");
    format!(
        "\
usage: vm run [options] <main class> [arguments]
       vm run [options] -jar <jar file> [arguments]
       vm run [options] -m <module>[/<main class>] [arguments]
       vm run [options] <source file> [arguments]

heap and far memory:
  --gc {collectors}
                            the collector (also -XX:+UseMakoGC and so on)
  -Xmx<size> -Xms<size>     largest and first size of the heap
  --local-memory 25%|512m   how much of the heap may be in local memory; 100% (the default): all of it
  --local-memory-pool <name>=2g
                            share so much local memory with all VMs of this user that name the same pool, each as it
                            needs, and at most its --local-memory; =2g may be left away when others are in it
  --memory-servers <n>      start this many memory servers for the rest (default 2)
  --memory-server <address> use a running memory server instead: HOST:PORT, verbs:HOST:PORT over RDMA, or
                            unix:NAME on this machine; may be repeated
  --replicas 2              keep each page on two memory servers, and survive the loss of one (default 1)
  --spare-memory-server <address>
                            with --replicas 2: a running memory server that takes the place of a lost one when nobody
                            is at the lost one's address; may be repeated
  --lost-server-timeout <seconds>
                            with --replicas 2: end when nobody has taken a lost server's place for so long, not go on
                            with one copy (default 0: go on)
  --token-file <file>       the secret that servers on other machines want to see
  --transport shm|tcp|verbs how to talk to servers that are started here (default shm)
  -XX:AgentTimeoutMillis=<n>  mako's agents that do not answer, or trace nothing, for so long are lost (default 30000)
  --page-checksums          over TCP, check every page that travels
  -XX:Prefetcher=<name>     which pages come along with one that is faulted on: none, sequential (the default), leap
  -XX:-RecycleFrames        walks through far memory do not take the frames of what they have passed
  -XX:FrameStockPercent=<n> keep the frames of regions that go, up to a share of local memory (default 100; 0: none)
  -XX:-CleanAhead           look for pages that can go, and write them back, only when room is short
  -XX:-KernelNotesWrites    signals tell which pages are written, although the kernel could note it (Linux 6.7)
  -XX:PrefetchProbe=<n>     one forecast in so many is a sample of whether such pages are used (default 32; 0: none)
  -XX:FaultTrace=<n>        keep n of the faults that fetch a page, from all of the run, for --stats (default 0)
  -XX:EpochPercent=<n>      an epoch ends when so many percent of the pages in local memory have changed (default 10)
  --far-latency 5us         added to every transfer and call
  --far-bandwidth 40gbit    limit of the transfers
  -XX:FarDisturbance=<seed> accidents on the way to memory servers, for tests: delays, lost packets, repeated writes
  --stats <file>            write counters and pauses as JSON at the end
  --metrics 127.0.0.1:<port>  serve counters to Prometheus while the program runs
  -XX:-ShenandoahPacing     allocate as fast as it goes while shenandoah is at work; and its PacingMaxDelay,
                            PacingCycleSlack, MinFreeThreshold, InitFreeThreshold, LearningSteps, AllocSpikeFactor,
                            GarbageThreshold, ImmediateThreshold, EvacReserve, CriticalFreeThreshold, FullGCThreshold
  -XX:ShenandoahForwarding=header  new addresses of objects are in their old headers, not in a table
  -XX:RegionSize=<size>     bytes of a region; also G1HeapRegionSize, ShenandoahRegionSize
  -XX:-SemeruOffloadTracing semeru traces old regions here, not on the memory servers
  -XX:SemeruTracingGrowthPercent=<n>  it traces them anew when they have grown by so much of the heap (default 1)
  -XX:-TraceInZones         what is traced here is traced wherever it is, not one part of the heap after the other
  -XX:-UseCompressedOops    references in the heap have eight bytes, not four as in heaps below 32 GB; those of mako
                            always have four, and the entries of its table eight then, as in larger heaps; with
                            MemLinerEstimator=epoch those of MemLiner always have eight
  -XX:-UseHIT               mako without its indirection table, to measure what the table costs
  -XX:-UseHITTranslation    mako's objects get entries in its table, but references do not go through them; nothing is
                            collected: to measure the two costs apart
  -XX:-MakoOffloadTracing, -XX:-MakoOffloadEvacuation  mako traces, moves objects here, not on the memory servers
  -XX:-MakoWriteThrough     what is dirty is written to them in the pause in which a cycle begins, not around it
  -XX:-MakoTraceOrder       they move objects in the order of addresses, not in that in which they traced them
  -XX:-MakoEntryPreload     pages of entries of its table come when objects get them, not before
  -XX:-MakoCopyAhead        objects are copied on the servers while threads wait for it, not before
  -XX:-MakoBringBack        what was in local memory of what they move comes back when it is needed, not at once
  -XX:-MakoFollowEntries    a page of an entry that is read comes without the page of the entry's object
  -XX:-MakoTouchedApart     what a program touches while it waits much for pages is not moved apart from the rest
  -XX:MakoEntryBufferSize=<n>  free entries that a thread has (default 1024); and its SATBBufferSize=1024,
                            GhostBufferSize=1024 (references for another server that an agent collects),
                            PollingPeriod=50, PollingPeriodMax=2000 (us, of the agents' flags),
                            LiveThreshold=75 (percent: fuller regions are not evacuated), GroupRegions=64 (that are
                            evacuated into one), MinFreeThreshold=25 (percent: with less free a cycle begins),
                            JumpsPerPage=1 (regions in which tracing jumps more often are evacuated for the order of
                            objects, if at most UnorderedLiveThreshold=98 percent live; 0: none), FaultsPerCycle=1
                            (a cycle begins when the program has allocated and fetched so many times local memory; 0:
                            never), TouchFaults=2 (so many times if it has not, from when it is noted what is touched),
                            TouchWaits=40 (percent of the time that threads must wait for pages then), TouchWindow=3
                            (so many times until a cycle begins with that)
  -XX:ParallelGCThreads=<n> threads of pauses, g1, shenandoah, semeru, memliner-* (default: one for each processor)
  -XX:ConcGCThreads=<n>     threads that work beside the program (default: a quarter of those)
  -XX:MaxGCPauseMillis=<n>  what pauses of g1 and semeru should take at most (default 200)
  -XX:MaxTenuringThreshold=<n>  pauses that an object survives at most before g1 takes it for old (default 15)
  -XX:InitiatingHeapOccupancyPercent=<n>  g1 marks when so much of the heap is old (default 45), until it has
                            learnt when it should (-XX:-G1UseAdaptiveIHOP: always); and its
                            G1NewSizePercent, G1MaxNewSizePercent, G1ReservePercent, G1MixedGCLiveThresholdPercent,
                            G1HeapWastePercent, G1MixedGCCountTarget, G1OldCSetRegionThresholdPercent
  -XX:-MemLinerQueue        memliner-*: threads do not tell the tracers of what they touch
  -XX:MemLinerQueueLength=<n>  what a thread's queue holds of that (default 1024)
  -XX:+MemLinerOverwrite    a full queue loses its oldest entries; by default threads tell of nothing while it is full
  -XX:MemLinerMaxDepth=<n>  hops that are traced at once from what was touched (default 3)
  -XX:MemLinerMaxWidth=<n>  but not from objects with more references than this (default 16; 0: from all)
  -XX:+MemLinerExploreRemote  and wherever it is, not only what is in local memory
  -XX:-MemLinerPushBack     remote objects are traced in their turn, too
  -XX:MemLinerMaxDL=auto|<n>  how often they are pushed back (default auto: by how much of the heap is free; 0 with less
                            than MemLinerRedZone=15 percent, MemLinerYellowDL=2 with less than MemLinerYellowZone=50,
                            else MemLinerGreenDL=4)
  -XX:MemLinerEstimator=<name>  what tells whether an object is in local memory: residency (the default), none, or
                            epoch: references say when they were used, in MemLinerEpochBits=4 bits; at most
                            MemLinerEpochs=1 epochs ago means local (see EpochPercent)
  -XX:-MemLinerTwoPhaseEvacuation  memliner-shenandoah copies objects region by region, not those in local memory first
  -XX:+VerifyHeap           check the heap before and after every collection
  -XX:GcZeal=<n>            collect at every n-th allocation
  -Xlog:gc*, -verbose:gc    log collections

compiling:
  -Xint, -Xcomp             only interpret; compile every method at its first call
  -XX:CompileThreshold=<n>  calls after which a method is compiled in the background; -Xbatch: wait for it
  -XX:+PrintCompilation     say what is compiled
  -XX:JitStress=<seed>      compile at random moments, and leave some methods out

programs:
  -cp, -classpath, --class-path <path>
  -p, --module-path <path>  --add-modules, --limit-modules <modules>
  --add-opens, --add-exports, --add-reads, --patch-module, --enable-native-access ...
  -D<name>=<value>  -ea, -da, -esa, -dsa  -Xss<size>  --enable-preview  --source <version>
  -verbose:class  -version  --version  -showversion  --list-modules  -d <module>  --dry-run
  @<file>                   options from a file
  --java-home <folder>      the JDK 17 to use (else JAVA_HOME, else the usual places)
"
    )
}

pub fn collectors() -> String {
    let line = |kind: &CollectorKind| {
        let note = if kind.collects() { "" } else { "   never frees memory" };
        format!("{}{note}\n", kind.name())
    };
    CollectorKind::ALL.iter().map(line).collect()
}
