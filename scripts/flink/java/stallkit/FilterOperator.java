package stallkit;

import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Sends lines through the filters, in order: the first line of each id, and all lines without an id. A block is answered before the next one is
 *  taken. So the state of a checkpoint is the ids alone, which are forgotten after some days. */
public final class FilterOperator extends FilterTask<Block, Dump> {
    private static final int TOGETHER = 1 << 16; // ids that are stored at once

    private final Duration kept;
    private transient ValueState<Boolean> stored; // true for each id that is stored
    private transient Set<String> added; // ids that are not stored yet
    private transient Counter dumps, missingImages, duplicates;

    FilterOperator(Filters filters, Duration kept) {
        super(filters, Filters.Work.COUNT);
        this.kept = kept;
    }

    @Override public void open() throws Exception {
        super.open();
        ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(kept).cleanupInRocksdbCompactFilter(1000).build());
        stored = getRuntimeContext().getState(descriptor);
        added = new HashSet<>();
        dumps = metrics.counter("dumps");
        missingImages = metrics.counter("missing_images");
        duplicates = metrics.counter("duplicates");
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        for (Block block = record.getValue(); block != null;) block = pass(block);
    }

    /** Sends the lines whose ids have not been seen. Returns the lines that have the id of an earlier line of the block, which may yet be refused;
     *  null: there are none. */
    private Block pass(Block block) throws Exception {
        Set<String> ids = new HashSet<>();
        BitSet firsts = new BitSet(), again = new BitSet();
        for (int i = 0; i < block.lines(); i++) {
            String key = block.key(i);
            if (isId(key) && !ids.add(key)) again.set(i);
            else if (!isId(key) || !hasSeen(key)) firsts.set(i);
        }
        int known = block.lines() - firsts.cardinality() - again.cardinality();
        duplicates.inc(known);
        dumps.inc(known);
        Block first = block.part(firsts);
        if (!firsts.isEmpty()) answer(first, (i, dump) -> collect(dump, first, i));
        return again.isEmpty() ? null : block.part(again);
    }

    private static boolean isId(String key) { return key.charAt(0) != '#'; }

    /** Passes on a dump. The line of the block with this index is the dump as it came. */
    private void collect(Dump dump, Block block, int index) throws Exception {
        boolean nameless = dump.has(Dump.Field.IMAGE);
        dumps.inc();
        if (nameless) missingImages.inc();
        if (isId(block.key(index))) added.add(block.key(index));
        if (nameless && filters.holds) output.collect(new StreamRecord<>(dump.with(block.line(index))));
        else if (filters.heads) output.collect(new StreamRecord<>(dump));
        if (added.size() >= TOGETHER) store();
    }

    private boolean hasSeen(String id) throws Exception {
        if (added.contains(id)) return true;
        setCurrentKey(id);
        return stored.value() != null;
    }

    /** Writes the ids that are not stored yet, in the order of the store's keys, each of which begins with its key group: RocksDB inserts
     *  neighbouring keys in a fraction of the time that it takes for keys in random order. */
    private void store() throws Exception {
        int groups = getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks();
        String[] sorted = added.stream().map(id -> (char) KeyGroupRangeAssignment.assignToKeyGroup(id, groups) + id).sorted().toArray(String[]::new);
        added.clear();
        for (String id : sorted) {
            setCurrentKey(id.substring(1));
            stored.update(true);
        }
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        super.prepareSnapshotPreBarrier(checkpoint);
        store();
    }
}
