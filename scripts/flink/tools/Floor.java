package stallkit;

import java.io.*;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.core.fs.Path;
import org.apache.flink.metrics.Counter;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.ParameterTool;

/** The least that a job can do to the same bytes, to compare its cost with: `--steps 1` reads blocks, 2 also has stallsym answer them, 3 passes the
 *  answers on to another task, 4 writes them there into a process. Nothing is parsed, remembered or written to files. Options are StallJob's; it follows the folder. */
public final class Floor {
    private Floor() { }

    public static void main(String[] args) throws Exception {
        ParameterTool options = ParameterTool.fromArgs(args);
        int steps = options.getInt("steps");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.enableCheckpointing(options.getLong("checkpoint", 60) * 1000);
        env.getConfig().enableObjectReuse();
        FileSource<Block> files = FileSource.forBulkFileFormat(new BlockFiles(), new Path(options.getRequired("in")))
            .monitorContinuously(java.time.Duration.ofSeconds(5)).build();
        DataStream<Block> blocks = env.fromSource(files, WatermarkStrategy.noWatermarks(), "files", Block.TYPE);
        if (steps >= 2) blocks = blocks.map(new Answers(new Filters(options))).returns(Block.TYPE);
        if (steps >= 3) blocks = blocks.keyBy(block -> block.f2 + block.f3, Types.STRING);
        blocks.map(new Counted(steps >= 4)).returns(Types.INT).sinkTo(new DiscardingSink<>());
        env.execute("floor");
    }

    private static final class Answers extends RichMapFunction<Block, Block> {
        private final Filters filters;
        private transient FilterChild child;

        Answers(Filters filters) { this.filters = filters; }

        @Override public Block map(Block block) throws Exception {
            if (child == null) child = filters.start(getRuntimeContext().getMetricGroup().addGroup("stallkit"));
            child.send(java.util.List.of(block.text()));
            ByteArrayOutputStream answers = new ByteArrayOutputStream(block.text().length * 3);
            for (int i = 0; i < block.lines(); i++) answers.writeBytes(child.answer());
            return new Block(answers.toByteArray(), block.lines(), block.f2, block.f3, "");
        }

        @Override public void close() {
            if (child != null) child.close();
        }
    }

    private static final class Counted extends RichMapFunction<Block, Integer> {
        private final boolean written;
        private transient Counter dumps;
        private transient Process process;

        Counted(boolean written) { this.written = written; }

        @Override public Integer map(Block block) throws Exception {
            if (dumps == null) dumps = getRuntimeContext().getMetricGroup().addGroup("stallkit").counter("dumps");
            if (written && process == null) process = new ProcessBuilder("cat").redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
            if (written) process.getOutputStream().write(block.text());
            dumps.inc(block.lines());
            return block.lines();
        }

        @Override public void close() {
            if (process != null) process.destroyForcibly();
        }
    }
}
