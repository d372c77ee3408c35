package stallkit;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.OutputTag;

/** Passes the first dump of each id, and all that have none; those whose app image has no symbols apart, if asked. Ids are forgotten after some
 *  days. Its input is keyed by the first dump of a list; the keys of the others belong to the same task, and are set here. */
final class Dedup extends AbstractStreamOperator<Dump> implements OneInputStreamOperator<List<Dump>, Dump> {
    static final OutputTag<Dump> MISSING = new OutputTag<>("missing", Dump.TYPE);

    private final Duration kept;
    private final boolean apart;
    private transient ValueState<Boolean> seen;
    private transient Counter duplicates;

    Dedup(Duration kept, boolean missingApart) {
        this.kept = kept;
        apart = missingApart;
    }

    @Override public void open() throws Exception {
        super.open();
        ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(kept).cleanupInRocksdbCompactFilter(1000).build());
        seen = getKeyedStateStore().getState(descriptor);
        duplicates = getMetricGroup().addGroup("stallkit").counter("duplicates");
    }

    @Override public void processElement(StreamRecord<List<Dump>> record) throws Exception {
        for (Dump dump : record.getValue()) {
            if (!isFirst(dump)) duplicates.inc();
            else if (apart && !dump.missing().isEmpty()) output.collect(MISSING, new StreamRecord<>(dump));
            else output.collect(new StreamRecord<>(dump));
        }
    }

    private boolean isFirst(Dump dump) throws Exception {
        if (dump.id().isEmpty()) return true;
        setCurrentKey(dump.key());
        if (seen.value() != null) return false;
        seen.update(true);
        return true;
    }
}
