package stallkit;

import static stallkit.Dump.Field.*;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple9;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A row for people: bucket, version, OS and hour; title and cause of the bucket's latest dump; dumps, stalled ms, longest span in ms. A problem is
 *  a row, too. For an image without symbols, bucket and title are the image; for refused lines, the bucket is the reason, and the title is the place
 *  of the latest such line. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Row extends Tuple9<String, String, String, String, String, String, Long, Long, Long> {
    static final TypeInformation<Row> TYPE = new TupleTypeInfo<>(Row.class, Types.STRING, Types.STRING, Types.STRING, Types.STRING, Types.STRING,
                                                                 Types.STRING, Types.LONG, Types.LONG, Types.LONG);

    public Row() { }

    private Row(String bucket, String version, String os, String hour, String title, String cause, long stalledMillis, long longestMillis) {
        super(bucket, version, os, hour, title, cause, 1L, stalledMillis, longestMillis);
    }

    String key() { return f0 + '\n' + f1 + '\n' + f2 + '\n' + f3; }

    void add(Row other) {
        f4 = other.f4;
        f5 = other.f5;
        f6 += other.f6;
        f7 += other.f7;
        f8 = Math.max(f8, other.f8);
    }

    /** Returns the row of a dump whose app image had no symbols when the dump came. */
    static Row ofNameless(Dump dump) {
        return new Row(dump.get(IMAGE), dump.get(VERSION), "", dump.hour(), dump.get(IMAGE), "missing symbols", 0, 0);
    }

    /** Returns the row of a dead letter. "#" replaces the numbers in its reason, so that there are only as many reasons as kinds of damage. */
    static Row ofDead(Block line) {
        return new Row(line.reason().replaceAll("[0-9]+", "#"), "", "", Dump.NO_HOUR, line.source() + ":" + line.number(0), "refused", 0, 0);
    }

    /** Returns the row of a dump that is ranked. */
    static Row of(Dump dump) {
        return new Row(dump.get(BUCKET), dump.get(VERSION), dump.get(OS), dump.hour(), dump.get(TITLE), dump.get(CAUSE),
                       Long.parseLong(dump.get(STALLED_MS)), Long.parseLong(dump.get(SPAN_MS)));
    }

    /** Adds up rows by their key. A sum that has changed is passed on, whole, after some seconds, so that a late dump gives the row of its hour
     *  again. */
    static final class Totals extends KeyedProcessFunction<String, Row, Row> {
        private final long delayMillis;
        private transient ValueState<Row> total;

        Totals(long delayMillis) { this.delayMillis = delayMillis; }

        @Override public void open(OpenContext context) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Row.TYPE));
        }

        @Override public void processElement(Row row, Context context, Collector<Row> out) throws Exception {
            Row sum = total.value();
            if (sum == null) {
                sum = row;
                context.timerService().registerEventTimeTimer(Long.MAX_VALUE); // the end of the input
            } else sum.add(row);
            total.update(sum);
            long now = context.timerService().currentProcessingTime();
            context.timerService().registerProcessingTimeTimer(now - now % delayMillis + delayMillis); // one in each period, however many dumps come
        }

        @Override public void onTimer(long time, OnTimerContext context, Collector<Row> out) throws Exception { out.collect(total.value()); }
    }
}
