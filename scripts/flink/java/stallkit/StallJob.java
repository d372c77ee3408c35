package stallkit;

import static stallkit.Dump.Field.*;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
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
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StallJob job = new StallJob(ParameterTool.fromArgs(args));
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
        FilterOperator filter = new FilterOperator(filters, Duration.ofDays(options.getLong("dedup", 7)));
        SingleOutputStreamOperator<Dump> firsts = keyed.transform("filters", Dump.TYPE, filter).uid("filters");
        DataStream<Dump> nameless = firsts.filter(dump -> dump.has(IMAGE)).name("without symbols");
        // Dumps that are not held stay in the task that answered them, because an exchange would copy each of them three times.
        DataStream<Dump> dumps = filters.holds ? firsts.filter(dump -> !dump.has(IMAGE)).name("with symbols") : firsts;
        DataStream<Block> dead = lines.getSideOutput(FilterTask.DEAD).union(firsts.getSideOutput(FilterTask.DEAD));
        DataStream<Dump> partials = firsts.getSideOutput(FilterTask.PARTIALS);
        annotated(dumps, "annotated");
        if (filters.holds) {
            SingleOutputStreamOperator<Block> released = nameless.keyBy(Hold::key, Types.STRING)
                .transform("held for symbols", Block.TYPE, new Hold(filters, millis("hold", 0), millis("retry", 30))).uid("hold");
            SingleOutputStreamOperator<Dump> counted = released.transform("filters of released", Dump.TYPE, new Hold.Count(filters)).uid("partials");
            annotated(counted, "annotated-released");
            dumps = dumps.union(counted);
            dead = dead.union(released.getSideOutput(FilterTask.DEAD), counted.getSideOutput(FilterTask.DEAD));
            partials = partials.union(counted.getSideOutput(FilterTask.PARTIALS));
        }
        dead.sinkTo(Outputs.deadLetters(out + "/dead")).uid("dead").name("dead letters: files");
        if (filters.counts)
            partials.sinkTo(Outputs.packedLines(out + "/partials", false, partial -> partial.get(ID))).uid("partial-files").name("partials: files");
        if (options.has("rows")) {
            rows(dumps.filter(dump -> dump.has(BUCKET)).map(Row::of).returns(Row.TYPE).name("row of a dump"), "rows");
            rows(nameless.map(Row::ofNameless).returns(Row.TYPE).union(dead.map(Row::ofDead).returns(Row.TYPE)), "problems");
        }
    }

    private void annotated(DataStream<Dump> dumps, String uid) {
        if (filters.annotated)
            dumps.sinkTo(Outputs.packedLines(out + "/annotated", filters.zstd, StallJob::folder)).uid(uid).name("annotated dumps: files");
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
        var files = FileSource.forBulkFileFormat(new BlockReader.Files(), new Path(Filters.absolute(options.getRequired("in"))));
        if (options.has("follow")) files.monitorContinuously(Duration.ofSeconds(options.getLong("poll", 5)));
        return env.fromSource(files.build(), WatermarkStrategy.noWatermarks(), "files", Block.TYPE).uid("files");
    }

    /** Writes the totals of the rows into the table stall_NAME. */
    private void rows(DataStream<Row> rows, String name) {
        rows.keyBy(Row::key, Types.STRING).process(new Row.Totals(millis("rows-every", 10))).returns(Row.TYPE).uid(name).name("totals: " + name)
            .sinkTo(new PostgresSink(options.get("rows"), "stall_" + name)).uid("postgres-" + name).name("PostgreSQL: " + name);
    }
}
