package stallkit;

import static stallkit.Dump.Field.*;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

/** The pipe as a job: batches of dumps in; annotated dumps, partials, rows and dead letters out. README.md has its options. */
public final class StallJob {
    private final ParameterTool options;
    private final Filters filters;
    private final String out;

    private StallJob(ParameterTool options) {
        this.options = options;
        filters = new Filters(options);
        out = Filters.absolute(options.getRequired("out"));
    }

    public static void main(String[] args) throws Exception {
        ParameterTool options = ParameterTool.fromArgs(args);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StallJob job = new StallJob(options);
        env.enableCheckpointing(job.millis("checkpoint", 60));
        env.getConfig().enableObjectReuse();
        job.build(env);
        env.execute("stallkit");
    }

    private long millis(String option, long seconds) { return options.getLong(option, seconds) * 1000; }

    private void build(StreamExecutionEnvironment env) throws Exception {
        SingleOutputStreamOperator<Block> lines = source(env).transform("keys of lines", Block.TYPE, new KeyOperator(filters)).uid("keys");
        // With one task the lines stay where they are, without an exchange.
        KeyedStream<Block, String> keyed = env.getParallelism() > 1 ? lines.keyBy(Block::key, Types.STRING)
            : DataStreamUtils.reinterpretAsKeyedStream(lines, Block::key, Types.STRING);
        SingleOutputStreamOperator<Dump> firsts = keyed.transform("filters", Dump.TYPE, new FilterOperator(filters, Duration.ofDays(options.getLong("dedup", 7)))).uid("filters");
        DataStream<Block> dead = lines.getSideOutput(FilterOperator.DEAD).union(firsts.getSideOutput(FilterOperator.DEAD));
        // Dumps that are not held stay in the task that answered them, because an exchange would copy each of them three times.
        DataStream<Dump> now = millis("hold", 0) > 0 ? firsts.filter(dump -> !dump.has(IMAGE)).name("with symbols") : firsts, dumps = now;
        annotated(now, "annotated");
        DataStream<Tuple2<String, byte[]>> partials = firsts.getSideOutput(CountOperator.PARTIALS);
        if (millis("hold", 0) > 0) {
            SingleOutputStreamOperator<Dump> released = nameless(firsts).keyBy(Hold::key, Types.STRING)
                .process(new Hold(filters, millis("hold", 0), millis("retry", 30))).returns(Dump.TYPE).uid("hold").name("held for symbols");
            dead = dead.union(released.getSideOutput(FilterOperator.DEAD));
            annotated(released, "annotated-released");
            dumps = now.union(released);
            if (filters.counts) partials = partials.union(released.transform("partials", Dump.TYPE, new CountOperator(filters)).uid("partials").getSideOutput(CountOperator.PARTIALS));
        }
        dead.map(Block::deadLetter).returns(Types.STRING).name("dead letters").sinkTo(Outputs.lines(out + "/dead")).uid("dead").name("dead letters: files");
        if (filters.counts)
            partials.sinkTo(Outputs.<Tuple2<String, byte[]>>packedLines(out + "/partials", false, (p, out) -> out.write(p.f1), p -> p.f0)).uid("partial-files").name("partials: files");
        if (options.has("rows")) {
            rows(dumps.filter(dump -> dump.has(BUCKET)).map(Row::of).returns(Row.TYPE).name("row of a dump"), "rows");
            rows(nameless(firsts).map(Row::ofNameless).returns(Row.TYPE).union(dead.map(Row::ofDead).returns(Row.TYPE)), "problems");
        }
    }

    private void annotated(DataStream<Dump> dumps, String uid) {
        if (filters.annotated)
            dumps.sinkTo(Outputs.<Dump>packedLines(out + "/annotated", filters.zstd, Dump::writeTo, StallJob::folder)).uid(uid).name("annotated dumps: files");
    }

    private static String folder(Dump dump) {
        String hour = dump.hour();
        return "day=" + hour.substring(0, Math.min(10, hour.length())) + "/version=" + Outputs.name(dump.get(VERSION));
    }

    private DataStream<Block> source(StreamExecutionEnvironment env) throws Exception {
        if (options.has("kafka")) {
            // KafkaInput is compiled only where Kafka's client is installed.
            Class<?> input = Class.forName("stallkit.connectors.KafkaInput");
            @SuppressWarnings("unchecked")
            var lines = (DataStream<Block>) input.getMethod("read", StreamExecutionEnvironment.class, ParameterTool.class).invoke(null, env, options);
            return lines;
        }
        FileSource.FileSourceBuilder<Block> files = FileSource.forBulkFileFormat(new BlockReader.Files(), new Path(Filters.absolute(options.getRequired("in"))));
        if (options.has("follow")) files.monitorContinuously(Duration.ofSeconds(options.getLong("poll", 5)));
        return env.fromSource(files.build(), WatermarkStrategy.noWatermarks(), "files", Block.TYPE).uid("files");
    }

    /** Returns the dumps whose app image has no symbols. */
    private static DataStream<Dump> nameless(DataStream<Dump> dumps) { return dumps.filter(dump -> dump.has(IMAGE)).name("without symbols"); }

    /** Writes the totals of the rows into the table stall_NAME. */
    private void rows(DataStream<Row> rows, String name) {
        rows.keyBy(Row::key, Types.STRING).process(new Row.Totals(millis("rows-every", 10))).returns(Row.TYPE).uid(name).name("totals: " + name)
            .sinkTo(new PostgresSink(options.get("rows"), "stall_" + name)).uid("postgres-" + name).name("PostgreSQL: " + name);
    }
}
