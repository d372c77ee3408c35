package stallkit;

import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;

/** Lines that the filters have counted and not given yet, in a scratch file without a name. */
final class Counted implements AutoCloseable {
    private static final int TOGETHER = 1 << 20; // bytes that are read again at once, or one block

    private final Path folder;
    private final List<int[]> blocks = new ArrayList<>(); // bytes and lines of each
    private FileChannel file; // null: none was needed yet
    private long bytes;

    Counted(String folder) { this.folder = Path.of(folder); }

    long bytes() { return bytes; }

    void add(byte[] text, int length, int lines) throws IOException {
        if (lines == 0) return;
        if (file == null) {
            Path path = Files.createTempFile(Files.createDirectories(folder), "stallkit", ".counted");
            file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
            Files.delete(path); // it goes with the process, however that ends
        }
        for (ByteBuffer left = ByteBuffer.wrap(text, 0, length); left.hasRemaining();) file.write(left, bytes + left.position());
        bytes += length;
        int[] last = blocks.isEmpty() ? null : blocks.get(blocks.size() - 1);
        if (last == null || last[0] + length > TOGETHER) blocks.add(new int[] {length, lines});
        else {
            last[0] += length;
            last[1] += lines;
        }
    }

    interface Reader {
        void read(byte[] text, int lines) throws IOException;
    }

    void forEach(Reader reader) throws IOException {
        long at = 0;
        for (int[] block : blocks) {
            ByteBuffer text = ByteBuffer.allocate(block[0]);
            while (text.hasRemaining())
                if (file.read(text, at + text.position()) < 0) throw new EOFException("what was counted is gone");
            reader.read(text.array(), block[1]);
            at += block[0];
        }
    }

    void clear() throws IOException {
        blocks.clear();
        bytes = 0;
        if (file != null) file.truncate(0);
    }

    @Override public void close() throws IOException {
        if (file != null) file.close();
    }
}
