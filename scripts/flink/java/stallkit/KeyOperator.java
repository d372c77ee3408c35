package stallkit;

import java.util.*;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Divides blocks by the tasks to which the keys of their lines belong. Most lines are dumps that begin with their id, which is the key; other lines
 *  go through filters, which answer with dumps and their ids. */
public final class KeyOperator extends AbstractStreamOperator<Block> implements OneInputStreamOperator<Block, Block> {
    private final Filters filters;
    private transient FilterChild child;
    private transient Counter refused;
    private transient int tasks, keyGroups;

    KeyOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.start(group);
        getContainingTask().getCancelables().registerCloseable(child::close);
        refused = group.counter("refused");
        tasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        keyGroups = getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks();
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        Block block = record.getValue();
        if (block.refused()) {
            bury(block);
            return;
        }
        BitSet[] parts = new BitSet[tasks + 1]; // the lines of each task; the last part has the lines without a key
        Arrays.setAll(parts, i -> new BitSet());
        for (int i = 0; i < block.lines(); i++) {
            String key = block.key(i);
            int task = key.isEmpty() ? tasks : tasks == 1 ? 0 : KeyGroupRangeAssignment.assignKeyToParallelOperator(key, keyGroups, tasks);
            if (!key.isEmpty() || !block.isBlank(i)) parts[task].set(i);
        }
        for (int task = 0; task < tasks; task++)
            if (!parts[task].isEmpty()) output.collect(new StreamRecord<>(block.part(parts[task])));
        if (!parts[tasks].isEmpty()) convert(block.part(parts[tasks]));
    }

    /** Passes on the dumps that these lines hold. */
    private void convert(Block block) throws Exception {
        child.send(block.text(), block.lines());
        for (int i = 0; i < block.lines(); i++) {
            List<Dump> found = new ArrayList<>();
            String reason = child.answer(found);
            if (!reason.isEmpty()) bury(block.refusedLine(i, reason));
            for (Dump dump : found) output.collect(new StreamRecord<>(block.answered(i, dump.line(), dump.key())));
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
