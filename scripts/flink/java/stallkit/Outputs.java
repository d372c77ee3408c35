package stallkit;

import java.io.*;
import java.util.*;
import java.util.regex.Pattern;
import java.util.zip.*;
import org.apache.flink.api.common.serialization.*;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.functions.sink.filesystem.*;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.SimpleVersionedStringSerializer;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.function.SerializableFunction;

/** Makes sinks for files that appear under their names when a checkpoint is complete. */
final class Outputs {
    private static final Pattern OTHER = Pattern.compile("[^A-Za-z0-9._+-]");

    private Outputs() { }

    interface Writer<T> extends Serializable {
        void write(T element, OutputStream out) throws IOException;
    }

    /** Makes a sink for files of packed lines, in the folder of `path` that `folder` names for an element. */
    static <T> FileSink<T> packedLines(String path, boolean zstd, Writer<T> writer, SerializableFunction<T, String> folder) {
        return FileSink.<T>forBulkFormat(new Path(path), file -> new PackedLines<>(zstd ? zstd(file) : gzip(file), writer))
            .withBucketAssigner(new Folders<>(folder)).withOutputFileConfig(new OutputFileConfig("part", zstd ? ".jsonl.zst" : ".jsonl.gz")).build();
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

    static FileSink<String> lines(String path) {
        return FileSink.forRowFormat(new Path(path), new SimpleStringEncoder<String>("UTF-8"))
            .withRollingPolicy(OnCheckpointRollingPolicy.build()).withOutputFileConfig(new OutputFileConfig("part", ".jsonl")).build();
    }

    /** Returns a text of a dump as a safe name of a folder. */
    static String name(String text) {
        String name = OTHER.matcher(text).replaceAll("_");
        return name.isEmpty() || name.startsWith(".") ? "unknown" : name.substring(0, Math.min(name.length(), 64));
    }

    private static final class PackedLines<T> implements BulkWriter<T> {
        private static final int TOGETHER = 1 << 17; // bytes of lines that are packed at once, so that the packer's tables stay in the processor's cache

        private final Writer<T> writer;
        private final OutputStream packed, lines;

        PackedLines(OutputStream packed, Writer<T> writer) {
            this.writer = writer;
            this.packed = packed;
            lines = new BufferedOutputStream(packed, TOGETHER);
        }

        @Override public void addElement(T element) throws IOException { writer.write(element, lines); }

        @Override public void flush() throws IOException { lines.flush(); }

        @Override public void finish() throws IOException {
            flush();
            if (packed instanceof GZIPOutputStream gzip) gzip.finish(); // finish() leaves the file open, close() would not
        }
    }

    /** Names the folder of an element. Phones choose the texts of versions and days, so all names after the first MOST become one, "other". */
    private static final class Folders<T> implements BucketAssigner<T, String> {
        private static final int MOST = 500;
        private final SerializableFunction<T, String> folder;
        private final Set<String> known = new HashSet<>();

        Folders(SerializableFunction<T, String> folder) { this.folder = folder; }

        @Override public String getBucketId(T element, Context context) {
            String name = folder.apply(element);
            if (known.size() < MOST) known.add(name);
            return known.contains(name) ? name : "other";
        }

        @Override public SimpleVersionedSerializer<String> getSerializer() { return SimpleVersionedStringSerializer.INSTANCE; }
    }
}
