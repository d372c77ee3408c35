package stallkit;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Sums of rows by their key. A row that has changed is passed on, whole, after some seconds: a late dump gives the row of its hour again. */
final class RowTotals extends KeyedProcessFunction<String, Row, Row> {
    private final long delayMillis;
    private transient ValueState<Row> total;

    RowTotals(long delayMillis) { this.delayMillis = delayMillis; }

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
        context.timerService().registerProcessingTimeTimer(now - now % delayMillis + delayMillis); // one, however many dumps come
    }

    @Override public void onTimer(long time, OnTimerContext context, Collector<Row> out) throws Exception { out.collect(total.value()); }
}
