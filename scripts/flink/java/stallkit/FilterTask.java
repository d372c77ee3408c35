package stallkit;

import org.apache.flink.metrics.*;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;
import org.apache.flink.util.function.BiConsumerWithException;

/** An operator that has filters, which end when the task is cancelled. The partials of what they have counted are passed on before a barrier is. */
abstract class FilterTask<I, O> extends AbstractStreamOperator<O> implements OneInputStreamOperator<I, O>, BoundedOneInput {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);
    static final OutputTag<Dump> PARTIALS = new OutputTag<>("partials", Dump.TYPE);

    final Filters filters;
    private final Filters.Work work;
    transient FilterChild child;
    transient MetricGroup metrics;
    private transient Counter refused;

    FilterTask(Filters filters, Filters.Work work) {
        this.filters = filters;
        this.work = work;
    }

    @Override public void open() throws Exception {
        super.open();
        metrics = getMetricGroup().addGroup("stallkit");
        refused = metrics.counter("refused");
        child = filters.start(work, getContainingTask().getEnvironment().getTaskManagerInfo().getTmpDirectories()[0], metrics);
        getContainingTask().getCancelables().registerCloseable(child::close);
    }

    /** Passes on refused lines as dead letters, and gives the dumps of the others to `taker`, each with the index of its line. */
    void answer(Block block, BiConsumerWithException<Integer, Dump, Exception> taker) throws Exception {
        child.answer(block, (i, dumps, reason) -> {
            if (!reason.isEmpty()) bury(block.refusedLine(i, reason));
            for (Dump dump : dumps) taker.accept(i, dump);
        });
        if (child.hasCountedMuch()) endInput();
    }

    void bury(Block line) {
        refused.inc();
        output.collect(DEAD, new StreamRecord<>(line));
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception { endInput(); }

    @Override public void endInput() throws Exception {
        for (Dump partial : child.partials()) output.collect(PARTIALS, new StreamRecord<>(partial.with(partial.lines())));
    }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
