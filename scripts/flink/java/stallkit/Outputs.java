package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.util.*;
import java.util.regex.Pattern;
import java.util.zip.*;
import org.apache.flink.api.common.serialization.BulkWriter;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.*;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.function.SerializableFunction;

/** Makes sinks for files that appear under their names when a checkpoint is complete. */
final class Outputs {
    private static final int MOST_FOLDERS = 500;
    private static final Pattern OTHER = Pattern.compile("[^A-Za-z0-9._+-]");

    /** Makes a sink for files of packed lines, in the folder of `path` that `folder` names. Phones choose the texts of versions and days, so all
     *  names after the first MOST_FOLDERS become one, "other". */
    static FileSink<Dump> packedLines(String path, boolean zstd, SerializableFunction<Dump, String> folder) {
        BucketAssigner<Dump, String> folders = new BasePathBucketAssigner<>() {
            private final Set<String> known = new HashSet<>();

            @Override public String getBucketId(Dump dump, Context context) {
                String name = folder.apply(dump);
                if (known.size() < MOST_FOLDERS) known.add(name);
                return known.contains(name) ? name : "other";
            }
        };
        return FileSink.<Dump>forBulkFormat(new Path(path), file -> new PackedLines(zstd ? zstd(file) : gzip(file)))
            .withBucketAssigner(folders).withOutputFileConfig(new OutputFileConfig("part", zstd ? ".jsonl.zst" : ".jsonl.gz")).build();
    }

    private static OutputStream gzip(OutputStream file) throws IOException {
        return new GZIPOutputStream(file, 1 << 15) {
            { def.setLevel(Deflater.BEST_SPEED); }
        };
    }

    private static OutputStream zstd(OutputStream file) throws IOException {
        try { // ZstdFrames is compiled only where zstd-jni is installed
            return (OutputStream) Class.forName("stallkit.connectors.ZstdFrames").getConstructor(OutputStream.class).newInstance(file);
        } catch (ReflectiveOperationException e) {
            throw new IOException("zstd needs what scripts/flink/get-flink --all fetches", e);
        }
    }

    static FileSink<Block> deadLetters(String path) {
        return FileSink.<Block>forRowFormat(new Path(path), (line, out) -> out.write(line.deadLetter().getBytes(UTF_8)))
            .withRollingPolicy(OnCheckpointRollingPolicy.build()).withOutputFileConfig(new OutputFileConfig("part", ".jsonl")).build();
    }

    /** Returns a text of a dump as a safe name of a folder. */
    static String name(String text) {
        String name = OTHER.matcher(text).replaceAll("_");
        return name.isEmpty() || name.startsWith(".") ? "unknown" : name.substring(0, Math.min(name.length(), 64));
    }

    private static final class PackedLines extends BufferedOutputStream implements BulkWriter<Dump> {
        private static final int TOGETHER = 1 << 17; // bytes of lines packed at once, so that the packer's tables stay in the processor's cache

        PackedLines(OutputStream packed) { super(packed, TOGETHER); }

        @Override public void addElement(Dump dump) throws IOException { write(dump.line()); }

        @Override public void finish() throws IOException {
            flush();
            if (out instanceof GZIPOutputStream gzip) gzip.finish(); // finish() leaves the file open, close() would not
        }
    }
}
