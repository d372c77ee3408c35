package stallkit;

import static stallkit.Dump.Field.IMAGE;

import java.io.*;
import java.util.*;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.metrics.*;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Holds dumps whose app image has no symbols yet, in queues. Each dump is passed on once: with symbols when these come, or without when it has
 *  waited long enough or the input ends. */
final class Hold extends KeyedProcessFunction<String, Dump, Dump> implements CheckpointedFunction {
    private static final int QUEUES = 64;   // number of queues of an image, over all tasks
    private static final int TOGETHER = 64; // dumps that are asked for at once

    private final Filters filters;
    private final long holdMillis, retryMillis;
    private transient MapState<Long, Tuple2<Long, Dump>> held; // by the number of a dump: the time until which it waits, and the dump
    private transient ValueState<Tuple2<Long, Long>> queue;    // numbers of the first dump and of the place behind the last one
    private transient ListState<Long> savedPending;
    private transient long pending;
    private transient FilterChild child;
    private transient Counter released;

    Hold(Filters filters, long holdMillis, long retryMillis) {
        this.filters = filters;
        this.holdMillis = holdMillis;
        this.retryMillis = retryMillis;
    }

    /** Returns the key of the queue of a dump. */
    static String key(Dump dump) { return dump.get(IMAGE) + "/" + Math.floorMod(dump.key().hashCode(), QUEUES); }

    @Override public void initializeState(FunctionInitializationContext context) throws Exception {
        savedPending = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("pending", Types.LONG));
        for (long count : savedPending.get()) pending += count;
    }

    @Override public void snapshotState(FunctionSnapshotContext context) throws Exception { savedPending.update(List.of(pending)); }

    @Override public void open(OpenContext context) {
        held = getRuntimeContext().getMapState(new MapStateDescriptor<>("held", Types.LONG, Types.TUPLE(Types.LONG, Dump.TYPE)));
        queue = getRuntimeContext().getState(new ValueStateDescriptor<>("queue", Types.TUPLE(Types.LONG, Types.LONG)));
        MetricGroup metrics = getRuntimeContext().getMetricGroup().addGroup("stallkit");
        child = filters.start(metrics);
        metrics.gauge("pending", () -> pending);
        released = metrics.counter("released");
    }

    @Override public void processElement(Dump dump, Context context, Collector<Dump> out) throws Exception {
        long now = context.timerService().currentProcessingTime();
        Tuple2<Long, Long> numbers = queue.value();
        if (numbers == null) {
            numbers = Tuple2.of(0L, 0L);
            context.timerService().registerEventTimeTimer(Long.MAX_VALUE); // the end of the input
            context.timerService().registerProcessingTimeTimer(now + retryMillis);
        }
        held.put(numbers.f1++, Tuple2.of(now + holdMillis, dump));
        queue.update(numbers);
        pending++;
    }

    @Override public void onTimer(long time, OnTimerContext context, Collector<Dump> out) throws Exception {
        Tuple2<Long, Long> numbers = queue.value();
        if (numbers == null) return;
        long now = context.timeDomain() == TimeDomain.EVENT_TIME ? Long.MAX_VALUE : context.timerService().currentProcessingTime();
        boolean waits = false;
        for (int together = 1; !waits && numbers.f0 < numbers.f1; together = TOGETHER) // the first dump alone shows whether the symbols have come, for all
            for (Answer answer : ask(numbers.f0, Math.min(numbers.f1, numbers.f0 + together))) {
                Tuple2<Long, Dump> one = held.get(numbers.f0);
                waits = answer.dump != null && one.f0 > now && answer.dump.get(IMAGE).equals(one.f1.get(IMAGE));
                if (waits) break;
                if (answer.dump != null) out.collect(answer.dump);
                else context.output(FilterOperator.DEAD, new Block(one.f1.text(), "held for symbols", 0, answer.reason));
                held.remove(numbers.f0++);
                pending--;
                released.inc();
            }
        if (numbers.f0 < numbers.f1) {
            queue.update(numbers);
            context.timerService().registerProcessingTimeTimer(now + retryMillis);
        } else {
            queue.clear();
            context.timerService().deleteEventTimeTimer(Long.MAX_VALUE);
        }
    }

    /** A dump as the filters answer it now; null: there is none, and `reason` says why. */
    private record Answer(Dump dump, String reason) { }

    private List<Answer> ask(long from, long to) throws Exception {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        for (long i = from; i < to; i++) held.get(i).f1.writeTo(lines);
        child.send(lines.toByteArray(), (int) (to - from));
        List<Answer> answers = new ArrayList<>();
        for (long i = from; i < to; i++) {
            List<Dump> dumps = new ArrayList<>(1);
            String reason = child.answer(dumps);
            answers.add(new Answer(dumps.isEmpty() ? null : dumps.get(0), reason));
        }
        return answers;
    }

    @Override public void close() throws IOException {
        if (child != null) child.close();
    }
}
