package stallkit;

import java.io.*;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;

/** Counts the dumps that were held, by filters of their own, and passes on the partials. */
public final class CountOperator extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<Dump, Dump>, BoundedOneInput {
    /** A partial: its hour or day, and its text (stall-partial(5)). */
    static final OutputTag<Tuple2<String, byte[]>> PARTIALS = new OutputTag<>("partials", Types.TUPLE(Types.STRING, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    private static final int TOGETHER = 1 << 20; // bytes of dumps that are counted at once

    private final Filters filters;
    private transient FilterChild child;
    private transient ByteArrayOutputStream lines; // dumps that are not counted yet
    private transient int count;

    CountOperator(Filters filters) { this.filters = filters; }

    @Override public void open() throws Exception {
        super.open();
        child = filters.startCountingAll(getMetricGroup().addGroup("stallkit"), getContainingTask());
        lines = new ByteArrayOutputStream();
    }

    @Override public void processElement(StreamRecord<Dump> record) throws Exception {
        record.getValue().writeTo(lines);
        count++;
        if (lines.size() >= TOGETHER) count();
        if (child.hasCountedMuch()) givePartials(child, output);
    }

    private void count() throws Exception {
        if (count > 0) child.send(lines.toByteArray(), count);
        for (; count > 0; count--) {
            String wrong = child.answer(new ArrayList<>());
            if (!wrong.isEmpty()) throw new IOException("a dump that was held is not counted: " + wrong);
        }
        lines.reset();
    }

    /** Passes on the partials of all dumps that the filters of `child` have counted. */
    static void givePartials(FilterChild child, Output<?> output) throws Exception {
        for (Dump partial : child.partials()) output.collect(PARTIALS, new StreamRecord<>(Tuple2.of(partial.get(Dump.Field.ID), partial.textOfLines())));
    }

    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception { endInput(); }

    @Override public void endInput() throws Exception {
        count();
        givePartials(child, output);
    }

    @Override public void close() throws Exception {
        if (child != null) child.close();
        super.close();
    }
}
