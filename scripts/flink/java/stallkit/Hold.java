package stallkit;

import static stallkit.Dump.Field.IMAGE;

import java.io.ByteArrayOutputStream;
import java.util.List;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Holds dumps whose app image has no symbols yet, in queues. Each dump is passed on once: with symbols when these come, or without when it has
 *  waited long enough or the input ends. */
final class Hold extends FilterTask<Dump, Block> implements Triggerable<String, VoidNamespace> {
    private static final int QUEUES = 64;   // number of queues of an image, over all tasks
    private static final int TOGETHER = 64; // dumps that are asked for at once

    private final long holdMillis, retryMillis;
    private transient MapState<Long, Tuple2<Long, Dump>> held; // by the number of a dump: the time until which it waits, and the dump
    private transient ValueState<Tuple2<Long, Long>> queue;    // numbers of the first dump and of the place behind the last one
    private transient ListState<Long> savedPending;
    private transient InternalTimerService<VoidNamespace> timers;
    private transient long pending;
    private transient Counter released;

    Hold(Filters filters, long holdMillis, long retryMillis) {
        super(filters, Filters.Work.NAME);
        this.holdMillis = holdMillis;
        this.retryMillis = retryMillis;
    }

    /** Returns the key of the queue of a dump. */
    static String key(Dump dump) { return dump.get(IMAGE) + "/" + Math.floorMod(dump.key().hashCode(), QUEUES); }

    @Override public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        savedPending = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("pending", Types.LONG));
        for (long count : savedPending.get()) pending += count;
    }

    @Override public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        savedPending.update(List.of(pending));
    }

    @Override public void open() throws Exception {
        super.open();
        held = getRuntimeContext().getMapState(new MapStateDescriptor<>("held", Types.LONG, Types.TUPLE(Types.LONG, Dump.TYPE)));
        queue = getRuntimeContext().getState(new ValueStateDescriptor<>("queue", Types.TUPLE(Types.LONG, Types.LONG)));
        timers = getInternalTimerService("timers", VoidNamespaceSerializer.INSTANCE, this);
        released = metrics.counter("released");
        metrics.gauge("pending", () -> pending);
    }

    @Override public void processElement(StreamRecord<Dump> record) throws Exception {
        long now = timers.currentProcessingTime();
        Tuple2<Long, Long> numbers = queue.value();
        if (numbers == null) {
            numbers = Tuple2.of(0L, 0L);
            timers.registerEventTimeTimer(VoidNamespace.INSTANCE, Long.MAX_VALUE); // the end of the input
            timers.registerProcessingTimeTimer(VoidNamespace.INSTANCE, now + retryMillis);
        }
        held.put(numbers.f1++, Tuple2.of(now + holdMillis, record.getValue()));
        queue.update(numbers);
        pending++;
    }

    @Override public void onEventTime(InternalTimer<String, VoidNamespace> timer) throws Exception { release(Long.MAX_VALUE); }
    @Override public void onProcessingTime(InternalTimer<String, VoidNamespace> timer) throws Exception { release(timers.currentProcessingTime()); }

    private void release(long now) throws Exception {
        Tuple2<Long, Long> numbers = queue.value();
        if (numbers == null) return;
        int together = 1; // the first dump alone shows whether the symbols have come, for all
        while (numbers.f0 < numbers.f1 && release(numbers, together, now)) together = TOGETHER;
        if (numbers.f0 < numbers.f1) {
            queue.update(numbers);
            timers.registerProcessingTimeTimer(VoidNamespace.INSTANCE, now + retryMillis);
        } else {
            queue.clear();
            timers.deleteEventTimeTimer(VoidNamespace.INSTANCE, Long.MAX_VALUE);
        }
    }

    /** Asks for the next dumps of a queue, and passes on those before the first one that still waits. False: one waits. */
    private boolean release(Tuple2<Long, Long> numbers, int together, long now) throws Exception {
        long from = numbers.f0, to = Math.min(numbers.f1, from + together);
        ByteArrayOutputStream lines = new ByteArrayOutputStream(), passed = new ByteArrayOutputStream();
        for (long i = from; i < to; i++) lines.writeBytes(held.get(i).f1.line());
        Block asked = new Block(lines.toByteArray(), "held for symbols", 0, "");
        child.answer(asked, (i, dumps, reason) -> {
            if (numbers.f0 < from + i) return; // a dump before it waits
            Tuple2<Long, Dump> one = held.get(numbers.f0);
            if (!dumps.isEmpty() && one.f0 > now && dumps.get(0).get(IMAGE).equals(one.f1.get(IMAGE))) return;
            if (dumps.isEmpty()) bury(asked.refusedLine(i, reason));
            else passed.writeBytes(dumps.get(0).line());
            held.remove(numbers.f0++);
            pending--;
            released.inc();
        });
        if (passed.size() > 0) output.collect(new StreamRecord<>(new Block(passed.toByteArray(), asked.source(), 0, "")));
        return numbers.f0 == to;
    }

    /** Counts the dumps that were released, by filters of its own, and passes them on. */
    static final class Count extends FilterTask<Block, Dump> {
        Count(Filters filters) { super(filters, Filters.Work.COUNT_ALL); }

        @Override public void processElement(StreamRecord<Block> record) throws Exception {
            Block block = record.getValue();
            answer(block, (i, dump) -> output.collect(new StreamRecord<>(dump.with(block.line(i)))));
        }
    }
}
