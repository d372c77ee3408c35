package stallkit;

import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.flink.util.function.BiConsumerWithException;

/** Keeps the lines that the filters have counted, but not yet given as partials, in a scratch file without a name. */
final class Counted implements AutoCloseable {
    private final Path folder;
    private final List<int[]> blocks = new ArrayList<>(); // numbers of bytes and lines of each block
    private RandomAccessFile file; // null: no file was needed yet
    private long bytes;

    Counted(String folder) { this.folder = Path.of(folder); }

    long bytes() { return bytes; }

    void add(byte[] text, int length, int lines) throws IOException {
        if (lines == 0) return;
        if (file == null) {
            Path path = Files.createTempFile(Files.createDirectories(folder), "stallkit", ".counted");
            file = new RandomAccessFile(path.toFile(), "rw");
            Files.delete(path); // the file goes when the process ends, even if it is killed
        }
        file.seek(bytes);
        file.write(text, 0, length);
        bytes += length;
        blocks.add(new int[] {length, lines});
    }

    /** Calls `reader` with the text and the number of lines of each block. */
    void forEach(BiConsumerWithException<byte[], Integer, IOException> reader) throws IOException {
        if (bytes > 0) file.seek(0);
        for (int[] block : blocks) {
            byte[] text = new byte[block[0]];
            file.readFully(text);
            reader.accept(text, block[1]);
        }
    }

    void clear() throws IOException {
        blocks.clear();
        bytes = 0;
        if (file != null) file.setLength(0);
    }

    @Override public void close() throws IOException {
        if (file != null) file.close();
    }
}
