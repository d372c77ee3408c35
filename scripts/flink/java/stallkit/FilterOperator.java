package stallkit;

import java.util.*;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;

/** Lines through the filters, in order. A block is answered before the next one is taken, so a checkpoint of it has no state. */
public final class FilterOperator extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<Block, Dump> {
    static final OutputTag<Block> DEAD = new OutputTag<>("dead letters", Block.TYPE);

    private final Filters filters;
    private transient FilterChild child;
    private transient Counter dumps, refused, missingImages;

    FilterOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        var group = getMetricGroup().addGroup("stallkit");
        child = filters.start(group);
        getContainingTask().getCancelables().registerCloseable(child::close);
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
        List<Dump> found = new ArrayList<>(1);
        child.send(block.text());
        for (int i = 0, from = 0; i < block.lines(); i++, from = block.end(from)) {
            byte[] answer = child.answer();
            String reason = answer == null ? child.reason : Dump.ofAnswer(answer, found);
            if (!reason.isEmpty() && !block.isBlank(from)) bury(block.refusedLine(i, from, reason));
            for (Dump dump : found) pass(dump);
            found.clear();
        }
    }

    private void pass(Dump dump) {
        dumps.inc();
        if (dump.has(Dump.Field.IMAGE)) missingImages.inc();
        output.collect(new StreamRecord<>(dump));
    }

    private void bury(Block line) {
        refused.inc();
        output.collect(DEAD, new StreamRecord<>(line));
    }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
