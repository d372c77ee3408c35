package stallkit;

import java.util.*;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Divides blocks by the tasks to which the keys of their lines belong. Most lines are dumps that begin with their id, which is the key; other lines
 *  go through filters, which answer with dumps and their ids. */
public final class KeyOperator extends FilterTask<Block, Block> {
    KeyOperator(Filters filters) { super(filters, Filters.Work.NAME); }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        Block block = record.getValue();
        if (block.refused()) {
            bury(block);
            return;
        }
        int tasks = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        int keyGroups = getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks();
        BitSet[] parts = new BitSet[tasks + 1]; // the lines of each task; the last part has the lines without a key
        Arrays.setAll(parts, i -> new BitSet());
        for (int i = 0; i < block.lines(); i++) {
            String key = block.key(i);
            int task = key.isEmpty() ? tasks : tasks == 1 ? 0 : KeyGroupRangeAssignment.assignKeyToParallelOperator(key, keyGroups, tasks);
            if (!key.isEmpty() || !block.isBlank(i)) parts[task].set(i);
        }
        for (int task = 0; task < tasks; task++)
            if (!parts[task].isEmpty()) output.collect(new StreamRecord<>(block.part(parts[task])));
        if (parts[tasks].isEmpty()) return;
        Block others = block.part(parts[tasks]);
        answer(others, (i, dump) -> output.collect(new StreamRecord<>(others.answered(i, dump.line(), dump.key()))));
    }
}
