package stallkit;

import java.util.*;
import java.util.stream.Collectors;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.OutputTag;

/** Lines through the filters, in order. Passes the dumps on in lists, each of which is for one task: Dump.key() of all in it belongs there.
 *  Nothing is in flight when a barrier passes, so a checkpoint of it has no state. */
public final class FilterOperator extends AbstractStreamOperator<List<Dump>> implements OneInputStreamOperator<Block, List<Dump>>, BoundedOneInput {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);
    private static final int SEND_BYTES = 1 << 17, AHEAD_BYTES = 1 << 18, LATEST_MILLIS = 100;
    private static final int PASSED_TOGETHER = 64, LARGE = 1 << 16; // dumps; bytes of one that is passed on at once

    private final Filters filters;
    private transient FilterChild child;
    private transient ArrayDeque<Block> inFlight; // those whose lines have no answer yet
    private transient List<byte[]> unsent;
    private transient long inFlightBytes, unsentBytes;
    private transient List<List<Dump>> outgoing; // by task
    private transient int mostTasks;
    private transient boolean timer, busy;
    private transient Counter dumps, refused, missingImages;

    FilterOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.start(group);
        getContainingTask().getCancelables().registerCloseable(child::close);
        inFlight = new ArrayDeque<>();
        unsent = new ArrayList<>();
        mostTasks = getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks();
        outgoing = new ArrayList<>();
        for (int i = 0; i < getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks(); i++) outgoing.add(new ArrayList<>());
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
        unsent.add(block.text());
        unsentBytes += block.text().length;
        inFlightBytes += block.text().length;
        if (unsentBytes >= SEND_BYTES) {
            send();
            while (inFlightBytes > AHEAD_BYTES) take();
        }
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

    private void send() throws Exception {
        if (!unsent.isEmpty()) child.send(unsent);
        unsent = new ArrayList<>();
        unsentBytes = 0;
    }

    /** Waits for the answers to the oldest block; all that is in flight has been sent. */
    private void take() throws Exception {
        Block block = inFlight.remove();
        inFlightBytes -= block.text().length;
        boolean alone = false;
        for (int i = 0, from = 0; i < block.lines(); i++, from = block.end(from)) {
            byte[] answer = alone ? null : child.answer();
            if (answer == null) {
                if (!alone) child.restart();
                alone = true;
                answer = child.answerAlone(block.line(i, from).text());
            }
            String reason = answer == null ? child.reason() : pass(answer);
            if (!reason.isEmpty() && !block.isBlank(from)) bury(block.line(i, from).refusedFor(reason));
        }
        if (alone) child.send(inFlight.stream().map(Block::text).collect(Collectors.toList()));
    }

    /** Passes the dumps of an answer on; returns why the line, or a part of it, is refused, or "". */
    private String pass(byte[] answer) {
        List<Dump> found = new ArrayList<>(1);
        String reason = Dump.ofAnswer(answer, found);
        for (Dump dump : found) {
            dumps.inc();
            if (!dump.missing().isEmpty()) missingImages.inc();
            int task = KeyGroupRangeAssignment.assignKeyToParallelOperator(dump.key(), mostTasks, outgoing.size());
            outgoing.get(task).add(dump);
            if (outgoing.get(task).size() >= PASSED_TOGETHER || answer.length > LARGE) passList(task);
        }
        return reason;
    }

    private void passList(int task) {
        if (!outgoing.get(task).isEmpty()) output.collect(new StreamRecord<>(outgoing.get(task)));
        outgoing.set(task, new ArrayList<>(PASSED_TOGETHER));
    }

    private void bury(Block line) {
        refused.inc();
        output.collect(DEAD, new StreamRecord<>(line));
    }

    private void drain() throws Exception {
        send();
        while (!inFlight.isEmpty()) take();
        for (int task = 0; task < outgoing.size(); task++) passList(task);
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
