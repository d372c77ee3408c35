package stallkit;

import java.util.*;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.OutputTag;

/** Lines through the filters, in order. Nothing is in flight when a barrier passes, so a checkpoint of it has no state. */
public final class FilterOperator extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<Block, Dump>, BoundedOneInput {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);
    private static final int AHEAD_BYTES = 1 << 18, LATEST_MILLIS = 100;

    private final Filters filters;
    private transient FilterChild child;
    private transient ArrayDeque<Block> inFlight; // those whose lines have no answer yet
    private transient long inFlightBytes;
    private transient boolean timer, busy;
    private transient Counter dumps, refused, missingImages;

    FilterOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.start(group);
        getContainingTask().getCancelables().registerCloseable(child::close);
        inFlight = new ArrayDeque<>();
        dumps = group.counter("dumps");
        refused = group.counter("refused");
        missingImages = group.counter("missing_images");
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        Block block = record.getValue();
        if (block.refused()) {
            bury(block);
            return;
        }
        busy = true;
        inFlight.add(block);
        inFlightBytes += block.text().length;
        child.send(block.text());
        while (inFlightBytes > AHEAD_BYTES) take();
        if (!timer) startTimer();
    }

    /** What no block follows for some time is passed on. */
    private void startTimer() {
        timer = true;
        ProcessingTimeService clock = getProcessingTimeService();
        clock.registerTimer(clock.getCurrentProcessingTime() + LATEST_MILLIS, time -> {
            timer = false;
            if (busy) startTimer();
            else drain();
            busy = false;
        });
    }

    /** Waits for the answers to the oldest block. */
    private void take() throws Exception {
        Block block = inFlight.remove();
        inFlightBytes -= block.text().length;
        List<Dump> found = new ArrayList<>(1);
        for (int i = 0, from = 0; i < block.lines(); i++, from = block.end(from)) {
            byte[] answer = child.answer();
            String reason = answer == null ? child.reason() : Dump.ofAnswer(answer, found);
            if (!reason.isEmpty() && !block.isBlank(from)) bury(block.line(i, from).refusedFor(reason));
            for (Dump dump : found) {
                dumps.inc();
                if (dump.isNameless()) missingImages.inc();
                output.collect(new StreamRecord<>(dump));
            }
            found.clear();
        }
    }

    private void bury(Block line) {
        refused.inc();
        output.collect(DEAD, new StreamRecord<>(line));
    }

    private void drain() throws Exception {
        while (!inFlight.isEmpty()) take();
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception { drain(); }

    @Override public void processWatermark(Watermark mark) throws Exception {
        drain();
        super.processWatermark(mark);
    }

    @Override public void endInput() throws Exception { drain(); }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
