package stallkit;

import java.io.*;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Dumps into partials: one for each hour or day between two checkpoints. All of them end before a barrier passes, so there is no state. */
public final class PartialOperator extends AbstractStreamOperator<Tuple2<String, byte[]>> implements OneInputStreamOperator<Dump, Tuple2<String, byte[]>>, BoundedOneInput {
    /** A partial, as stall-partial(5), behind its hour or day. */
    static final TypeInformation<Tuple2<String, byte[]>> TYPE = Types.TUPLE(Types.STRING, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO);
    private static final int AT_ONCE = 4;             // processes that run while dumps come
    private static final int BEGIN_BYTES = 256 << 10; // what an hour has before one is started for it
    private static final int ENDED_TOGETHER = 8;
    private static final int HELD_BYTES = 32 << 20;   // what all hours without one hold

    private final Filters filters;
    private final int periodLength; // letters of an hour that tell the period
    private transient Map<String, Period> periods;
    private transient int running;
    private transient long held;

    /** What came of one period: what is held, and the process that has read what came before. */
    private static final class Period {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        Process process;
    }

    PartialOperator(Filters filters, boolean daily) {
        this.filters = filters;
        periodLength = daily ? "2026-11-21".length() : "2026-11-21T10".length();
    }

    @Override public void open() throws Exception {
        super.open();
        periods = new LinkedHashMap<>();
        getContainingTask().getCancelables().registerCloseable(this::kill);
    }

    @Override public void processElement(StreamRecord<Dump> record) throws Exception {
        Dump dump = record.getValue();
        String hour = dump.hour();
        Period period = periods.computeIfAbsent(hour.substring(0, Math.min(periodLength, hour.length())), name -> new Period());
        int before = period.text.size();
        dump.writeTo(period.text);
        held += period.text.size() - before;
        if (period.text.size() >= BEGIN_BYTES && (period.process != null || running < AT_ONCE)) pass(period);
        else if (held > HELD_BYTES) finish(List.of(Collections.max(periods.keySet(), Comparator.comparing(name -> periods.get(name).text.size()))));
    }

    /** Passes what is held on to the period's process, which is started if there is none. */
    private void pass(Period period) throws IOException {
        if (period.process == null) {
            period.process = new ProcessBuilder(filters.partial).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            running++;
        }
        period.text.writeTo(period.process.getOutputStream());
        held -= period.text.size();
        period.text.reset();
    }

    /** Ends these periods, of which some compute at the same time. */
    private void finish(Collection<String> names) throws Exception {
        Deque<String> left = new ArrayDeque<>(names), ended = new ArrayDeque<>();
        while (!left.isEmpty() || !ended.isEmpty())
            if (!left.isEmpty() && ended.size() < ENDED_TOGETHER) {
                pass(periods.get(left.element()));
                periods.get(left.element()).process.getOutputStream().close();
                ended.add(left.remove());
            } else collect(ended.remove());
    }

    private void collect(String name) throws Exception {
        Process process = periods.remove(name).process;
        byte[] partial = process.getInputStream().readAllBytes();
        int status = process.waitFor();
        if (status != 0) throw new IOException(String.join(" ", filters.partial) + ": exit status " + status);
        running--;
        output.collect(new StreamRecord<>(Tuple2.of(name, partial)));
    }

    private void kill() {
        if (periods != null)
            for (Period p : periods.values()) if (p.process != null) p.process.destroyForcibly();
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception { finish(periods.keySet()); }

    @Override public void endInput() throws Exception { finish(periods.keySet()); }

    @Override public void close() throws Exception {
        kill();
        super.close();
    }
}
