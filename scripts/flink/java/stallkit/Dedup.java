package stallkit;

import java.time.Duration;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.metrics.Counter;

/** Passes the first dump of each id, and all that have none. Ids are forgotten after some days. */
final class Dedup extends RichFilterFunction<Dump> {
    private final Duration kept;
    private transient ValueState<Boolean> seen;
    private transient Counter duplicates;

    Dedup(Duration kept) { this.kept = kept; }

    @Override public void open(OpenContext context) {
        ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(kept).cleanupInRocksdbCompactFilter(1000).build());
        seen = getRuntimeContext().getState(descriptor);
        duplicates = getRuntimeContext().getMetricGroup().addGroup("stallkit").counter("duplicates");
    }

    @Override public boolean filter(Dump dump) throws Exception {
        if (!dump.has(Dump.Field.ID)) return true;
        boolean first = seen.value() == null;
        if (first) seen.update(true);
        else duplicates.inc();
        return first;
    }
}
