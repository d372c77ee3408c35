package stallkit;

import java.io.*;
import java.util.*;
import java.util.zip.*;
import org.apache.flink.api.common.serialization.*;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.*;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.functions.sink.filesystem.*;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.SimpleVersionedStringSerializer;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;

/** Files that appear under their names when a checkpoint is complete, in folders named by what they hold. */
final class Outputs {
    private Outputs() { }

    interface Function<T, R> extends java.util.function.Function<T, R>, Serializable { }

    interface Writer<T> extends Serializable {
        void write(T element, OutputStream out) throws IOException;
    }

    /** Lines in gzip, below a folder that `folder` names. */
    static <T> FileSink<T> gzipLines(String path, Writer<T> writer, Function<T, String> folder) {
        return FileSink.<T>forBulkFormat(new Path(path), out -> new GzipLines<>(out, writer))
            .withBucketAssigner(new Folders<>(folder)).withOutputFileConfig(new OutputFileConfig("part", ".jsonl.gz")).build();
    }

    static FileSink<String> lines(String path) {
        return FileSink.forRowFormat(new Path(path), new SimpleStringEncoder<String>("UTF-8"))
            .withRollingPolicy(OnCheckpointRollingPolicy.build()).withOutputFileConfig(new OutputFileConfig("part", ".jsonl")).build();
    }

    /** Text of a dump as the name of a folder. */
    static String name(String text) {
        String name = text.replaceAll("[^A-Za-z0-9._+-]", "_");
        return name.isEmpty() || name.startsWith(".") ? "unknown" : name.substring(0, Math.min(name.length(), 64));
    }

    private static final class GzipLines<T> implements BulkWriter<T> {
        private final Writer<T> writer;
        private final GZIPOutputStream gzip;
        private final OutputStream out;

        GzipLines(FSDataOutputStream stream, Writer<T> writer) throws IOException {
            this.writer = writer;
            gzip = new GZIPOutputStream(stream, 1 << 15) {
                { def.setLevel(Deflater.BEST_SPEED); }
            };
            out = new BufferedOutputStream(gzip, 1 << 16); // some lines at once: zlib's tables stay in the processor's cache
        }

        @Override public void addElement(T element) throws IOException { writer.write(element, out); }

        @Override public void flush() throws IOException { out.flush(); }

        @Override public void finish() throws IOException {
            out.flush();
            gzip.finish();
        }
    }

    /** Versions and days are the phones' own words: those above some number go into one folder. */
    private static final class Folders<T> implements BucketAssigner<T, String> {
        private static final int MOST = 500;
        private final Function<T, String> folder;
        private final Set<String> known = new HashSet<>();

        Folders(Function<T, String> folder) { this.folder = folder; }

        @Override public String getBucketId(T element, Context context) {
            String name = folder.apply(element);
            if (known.size() < MOST) known.add(name);
            return known.contains(name) ? name : "other";
        }

        @Override public SimpleVersionedSerializer<String> getSerializer() { return SimpleVersionedStringSerializer.INSTANCE; }
    }
}
