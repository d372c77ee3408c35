package stallkit;

import java.io.ByteArrayOutputStream;
import java.util.*;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Gives each line its key, and divides blocks by the tasks that have the keys. Most lines are dumps that begin with their id; of what other
 *  lines hold the filters make such dumps. */
public final class KeyOperator extends AbstractStreamOperator<Block> implements OneInputStreamOperator<Block, Block> {
    private final Filters filters;
    private transient FilterChild child;
    private transient Counter refused;
    private transient int tasks, keyGroups;
    private transient Part[] parts; // by task, and behind these the lines without a key

    /** Lines of a block. */
    private static final class Part {
        final ByteArrayOutputStream text = new ByteArrayOutputStream();
        int[] indices = new int[64], ends = new int[64];
        int lines;

        void add(byte[] from, int begin, int end, int index) {
            text.write(from, begin, end - begin);
            if (lines == indices.length) {
                indices = Arrays.copyOf(indices, 2 * lines);
                ends = Arrays.copyOf(ends, 2 * lines);
            }
            ends[lines] = text.size();
            indices[lines++] = index;
        }

        Block take(Block of) {
            Block block = of.part(text.toByteArray(), Arrays.copyOf(ends, lines), Arrays.stream(indices, 0, lines).mapToLong(of::number).toArray());
            text.reset();
            lines = 0;
            return block;
        }
    }

    KeyOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.start(group);
        getContainingTask().getCancelables().registerCloseable(child::close);
        refused = group.counter("refused");
        tasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        keyGroups = getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks();
        parts = new Part[tasks + 1];
        Arrays.setAll(parts, i -> new Part());
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        Block block = record.getValue();
        if (block.refused()) {
            bury(block);
            return;
        }
        if (tasks == 1 && allHaveKeys(block)) {
            output.collect(record);
            return;
        }
        for (int i = 0, from = 0, end; i < block.lines(); i++, from = end) {
            end = block.end(i);
            String key = block.key(i, from);
            int task = key.isEmpty() ? tasks : KeyGroupRangeAssignment.assignKeyToParallelOperator(key, keyGroups, tasks);
            if (!key.isEmpty() || !block.isBlank(i, from)) parts[task].add(block.text(), from, end, i);
        }
        for (int task = 0; task < tasks; task++)
            if (parts[task].lines > 0) output.collect(new StreamRecord<>(parts[task].take(block)));
        if (parts[tasks].lines > 0) convert(parts[tasks].take(block));
    }

    private static boolean allHaveKeys(Block block) {
        for (int i = 0, from = 0; i < block.lines(); from = block.end(i++)) if (block.key(i, from).isEmpty()) return false;
        return true;
    }

    /** Passes on the dumps that these lines hold. */
    private void convert(Block block) throws Exception {
        List<Dump> found = new ArrayList<>();
        child.send(block.text(), block.ends());
        for (int i = 0, from = 0; i < block.lines(); from = block.end(i++)) {
            byte[] answer = child.answer();
            String reason = answer == null ? child.reason : Dump.ofAnswer(answer, found);
            if (!reason.isEmpty()) bury(block.refusedLine(i, from, reason));
            for (Dump dump : found) output.collect(new StreamRecord<>(block.answered(i, dump.line(), dump.key())));
            found.clear();
        }
    }

    private void bury(Block line) {
        refused.inc();
        output.collect(FilterOperator.DEAD, new StreamRecord<>(line));
    }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
