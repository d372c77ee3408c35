package stallkit;

import java.io.*;
import java.time.Duration;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;

/** Lines through the filters, in order, the first of each id and all that have none. A block is answered before the next one is taken, and what
 *  the filters have counted is given before a barrier passes: the state of a checkpoint is the ids, which are forgotten after some days. */
public final class FilterOperator extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<Block, Dump>, BoundedOneInput {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);
    static final OutputTag<Tuple2<String, byte[]>> PARTIALS = new OutputTag<>("partials", PartialOperator.TYPE);
    private static final long MOST_COUNTED = 512 << 20; // bytes of lines that are sent again when the filters die

    private final Filters filters;
    private final Duration kept;
    private transient FilterChild child;
    private transient Counted counted;
    private transient ValueState<Boolean> seen;
    private transient Counter dumps, refused, missingImages, duplicates;

    FilterOperator(Filters filters, Duration kept) {
        this.filters = filters;
        this.kept = kept;
    }

    @Override public void open() throws Exception {
        super.open();
        ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(kept).cleanupInRocksdbCompactFilter(1000).build());
        seen = getRuntimeContext().getState(descriptor);
        var group = getMetricGroup().addGroup("stallkit");
        counted = new Counted(getContainingTask().getEnvironment().getTaskManagerInfo().getTmpDirectories()[0]);
        child = filters.startCounting(group, counted);
        getContainingTask().getCancelables().registerCloseable(child::close);
        dumps = group.counter("dumps");
        refused = group.counter("refused");
        missingImages = group.counter("missing_images");
        duplicates = group.counter("duplicates");
    }

    @Override public void processElement(StreamRecord<Block> record) throws Exception {
        for (Block block = record.getValue(); block != null;) block = pass(block);
        if (child.countedBytes() > MOST_COUNTED) givePartials();
    }

    /** Passes the lines whose ids have not been seen; returns those that have the id of another one of them: it may be refused. */
    private Block pass(Block block) throws Exception {
        Set<String> ids = new HashSet<>();
        List<String> keys = new ArrayList<>(block.lines());
        BitSet left = new BitSet(), again = new BitSet();
        for (int i = 0, from = 0; i < block.lines(); from = block.end(i++)) {
            String key = block.key(i, from);
            keys.add(key);
            if (!isId(key)) continue;
            if (!ids.add(key)) again.set(i);
            else if (isSeen(key)) left.set(i);
        }
        duplicates.inc(left.cardinality());
        dumps.inc(left.cardinality());
        left.or(again);
        if (left.cardinality() < block.lines()) answer(without(block, left), keys, left);
        if (again.isEmpty()) return null;
        again.flip(0, block.lines());
        return without(block, again);
    }

    private static boolean isId(String key) { return !key.startsWith("#"); }

    private boolean isSeen(String key) throws Exception {
        setCurrentKey(key);
        return seen.value() != null;
    }

    /** The block without the lines of these indices. */
    private static Block without(Block block, BitSet left) {
        if (left.isEmpty()) return block;
        ByteArrayOutputStream text = new ByteArrayOutputStream(block.text().length);
        long[] numbers = new long[block.lines() - left.cardinality()];
        int[] ends = new int[numbers.length];
        int count = 0;
        for (int i = 0, from = 0, end; i < block.lines(); i++, from = end) {
            end = block.end(i);
            if (left.get(i)) continue;
            text.write(block.text(), from, end - from);
            ends[count] = text.size();
            numbers[count++] = block.number(i);
        }
        return block.part(text.toByteArray(), ends, numbers);
    }

    /** keys: of all lines of which `left` are not in the block. */
    private void answer(Block block, List<String> keys, BitSet left) throws Exception {
        List<Dump> found = new ArrayList<>(1);
        child.send(block.text(), block.ends());
        for (int i = 0, from = 0, end, at = left.nextClearBit(0); i < block.lines(); i++, from = end, at = left.nextClearBit(at + 1)) {
            end = block.end(i);
            byte[] answer = child.answer();
            String reason = answer == null ? child.reason : Dump.ofAnswer(answer, found);
            if (!reason.isEmpty()) bury(block.refusedLine(i, from, reason));
            if (!found.isEmpty() && isId(keys.get(at))) {
                setCurrentKey(keys.get(at));
                seen.update(true);
            }
            for (Dump dump : found) collect(dump, block.text(), from, end - 1);
            found.clear();
        }
    }

    /** The line from `from` to `to` is the dump as it came. */
    private void collect(Dump dump, byte[] text, int from, int to) {
        boolean nameless = dump.has(Dump.Field.IMAGE);
        dumps.inc();
        if (nameless) missingImages.inc();
        if (nameless && filters.holds && !filters.annotated) output.collect(new StreamRecord<>(dump.with(text, from, to)));
        else if (filters.heads || nameless && filters.holds) output.collect(new StreamRecord<>(dump));
    }

    private void bury(Block line) {
        refused.inc();
        output.collect(DEAD, new StreamRecord<>(line));
    }

    private void givePartials() throws Exception {
        List<Dump> partials = new ArrayList<>();
        String wrong = Dump.ofAnswer(child.partials(), partials);
        if (!wrong.isEmpty()) throw new IOException(wrong);
        for (Dump partial : partials) output.collect(PARTIALS, new StreamRecord<>(Tuple2.of(partial.get(Dump.Field.ID), partial.textOfLines())));
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception { givePartials(); }

    @Override public void endInput() throws Exception { givePartials(); }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        if (counted != null) counted.close();
        super.close();
    }
}
