package stallkit;

import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;

/** Sends lines through the filters, in order: the first line of each id, and all lines without an id. A block is answered before the next one is
 *  taken, and the partials of what the filters have counted are passed on before a barrier is. So the state of a checkpoint is the ids alone, which are
 *  forgotten after some days. */
public final class FilterOperator extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<Block, Dump>, BoundedOneInput {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);

    private final Filters filters;
    private final Duration kept;
    private transient FilterChild child;
    private transient SeenIds seen;
    private transient Counter dumps, refused, missingImages, duplicates;

    FilterOperator(Filters filters, Duration kept) {
        this.filters = filters;
        this.kept = kept;
    }

    @Override public void open() throws Exception {
        super.open();
        ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(kept).cleanupInRocksdbCompactFilter(1000).build());
        seen = new SeenIds(getRuntimeContext().getState(descriptor), this, getRuntimeContext().getTaskInfo().getMaxNumberOfParallelSubtasks());
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.startCounting(group, getContainingTask());
        dumps = group.counter("dumps");
        refused = group.counter("refused");
        missingImages = group.counter("missing_images");
        duplicates = group.counter("duplicates");
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        for (Block block = record.getValue(); block != null;) block = pass(block);
        if (child.hasCountedMuch()) CountOperator.givePartials(child, output);
    }

    /** Sends the lines whose ids have not been seen. Returns the lines that have the id of an earlier line of the block, which may yet be refused;
     *  null: there are none. */
    private Block pass(Block block) throws Exception {
        Set<String> ids = new HashSet<>();
        BitSet firsts = new BitSet(), again = new BitSet();
        for (int i = 0; i < block.lines(); i++) {
            String key = block.key(i);
            if (isId(key) && !ids.add(key)) again.set(i);
            else if (!isId(key) || !seen.has(key)) firsts.set(i);
        }
        int known = block.lines() - firsts.cardinality() - again.cardinality();
        duplicates.inc(known);
        dumps.inc(known);
        if (!firsts.isEmpty()) answer(block.part(firsts));
        return again.isEmpty() ? null : block.part(again);
    }

    private static boolean isId(String key) { return key.charAt(0) != '#'; }

    private void answer(Block block) throws Exception {
        List<Dump> found = new ArrayList<>(1);
        child.send(block.text(), block.lines());
        for (int i = 0; i < block.lines(); i++) {
            String reason = child.answer(found);
            if (!reason.isEmpty()) {
                refused.inc();
                output.collect(DEAD, new StreamRecord<>(block.refusedLine(i, reason)));
            }
            if (!found.isEmpty() && isId(block.key(i))) seen.add(block.key(i));
            for (Dump dump : found) collect(dump, block, i);
            found.clear();
        }
    }

    /** Passes on a dump. The line of the block with this index is the dump as it came. */
    private void collect(Dump dump, Block block, int index) {
        boolean nameless = dump.has(Dump.Field.IMAGE);
        dumps.inc();
        if (nameless) missingImages.inc();
        if (nameless && filters.holds && !filters.annotated) output.collect(new StreamRecord<>(block.behind(dump, index)));
        else if (filters.heads || nameless && filters.holds) output.collect(new StreamRecord<>(dump));
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        CountOperator.givePartials(child, output);
        seen.store();
    }

    @Override public void endInput() throws Exception { CountOperator.givePartials(child, output); }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
