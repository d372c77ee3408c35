package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.util.*;
import java.util.zip.*;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.reader.BulkFormat;
import org.apache.flink.connector.file.src.util.*;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;

/** Reads the lines of a batch in blocks. The batch is plain, gzip or zip, as its first bytes tell. A file that is a report of many lines becomes one
 *  line, an envelope (stall-input/1). Damaged data end the batch with a refused block; a line that is too long is a refused block. The same bytes
 *  give the same blocks. */
public final class BlockReader implements BulkFormat.Reader<Block> {
    private static final int MAX_LINE = 64 << 20;
    private static final int BLOCK = 1 << 20; // bytes of a block, unless one line is longer: as much as a pipe may hold
    private static final int HEAD = 1 << 16;  // bytes that tell whether the file is one report
    private static final int KEPT = 1024;     // bytes that are kept of a line that is too long

    private final String batch;
    private final int magic; // its first two bytes
    private final InputStream outer;
    private InputStream in; // the open file; null: none
    private byte[] buffer = new byte[BLOCK];
    private int at, filled;
    private String source;
    private long passed;        // number of lines of the file that were read or refused
    private long blocks;        // number of blocks of the batch that readBatch gave
    private boolean whole;      // the file is one report
    private boolean complete;   // the buffer has the file's last bytes
    private String damage;      // why the file could not be read to its end; null: no damage was met
    private boolean ended;

    /** in: belongs to the reader from now on. source: the name of the batch, which its blocks have as their source. */
    public BlockReader(InputStream in, String source) throws IOException {
        InputStream marked = new BufferedInputStream(in, 1 << 16);
        batch = this.source = source;
        marked.mark(2);
        magic = marked.read() << 8 | marked.read();
        marked.reset();
        outer = magic == ('P' << 8 | 'K') ? new ZipInputStream(marked) : marked;
    }

    /** Returns the next block; null at the end. Throws IOException if the storage fails; damaged data give a refused block. */
    public Block next() throws IOException {
        while (!ended) {
            try {
                Block block = in == null ? null : read();
                if (block != null) return block;
                if (damage == null) nextFile();
                else ended = true;
            } catch (EOFException | ZipException e) {
                damage = e.getMessage() == null ? "it ends too early" : e.getMessage();
                complete = true; // the lines before the damage are read first
            }
        }
        Block rest = damage == null ? null : new Block(new byte[0], source, passed + 1, "the rest of the batch cannot be read: " + damage);
        damage = null;
        return rest;
    }

    @Override public BulkFormat.RecordIterator<Block> readBatch() throws IOException {
        Block block = next();
        SingletonResultIterator<Block> one = new SingletonResultIterator<>();
        one.set(block, RecordAndPosition.NO_OFFSET, ++blocks);
        return block == null ? null : one;
    }

    private void nextFile() throws IOException {
        boolean first = in == null;
        in = null;
        if (outer instanceof ZipInputStream zip) {
            ZipEntry entry = zip.getNextEntry();
            ended = entry == null;
            if (ended || entry.isDirectory()) return;
            source = batch + "!" + entry.getName();
            in = zip;
        } else if (first) in = magic == 0x1f8b ? new GZIPInputStream(outer, 1 << 16) : outer;
        else ended = true;
        at = filled = 0;
        passed = 0;
        complete = false;
    }

    /** Returns the next block of the open file; null at its end. */
    private Block read() throws IOException {
        if (passed == 0 && at == 0) {
            if (filled == 0) fill();
            whole = isReport();
        }
        int end;
        while ((end = cut()) == at) {
            if (complete) return damage == null && at < filled ? take(filled) : null;
            if (filled - at > MAX_LINE) return tooLong();
            fill();
        }
        return take(end);
    }

    /** Returns the place behind the last line that ends in the next BLOCK bytes, or, if none does, behind the first line; `at`: the buffer has no end
     *  of line. */
    private int cut() {
        for (int i = Math.min(filled, at + BLOCK); i > at && !whole; i--)
            if (buffer[i - 1] == '\n') return i;
        return firstEnd();
    }

    private int firstEnd() { return whole ? at : Math.max(at, Bytes.find(buffer, at, filled, '\n') + 1); }

    private Block take(int end) {
        byte[] text = whole ? envelope() : Arrays.copyOfRange(buffer, at, buffer[end - 1] == '\n' ? end : end + 1);
        text[text.length - 1] = '\n'; // the file's last line may lack it
        Block block = new Block(text, source, passed + 1, "");
        passed += block.lines();
        at = end;
        return block;
    }

    /** Moves the unread bytes to the start of the buffer, which grows if a long line needs that, and fills the room behind them. */
    private void fill() throws IOException {
        int left = filled - at;
        buffer = Bytes.room(buffer, at, left, BLOCK, MAX_LINE + 1);
        at = 0;
        filled = left;
        for (int n; filled < buffer.length && !complete; filled += Math.max(n, 0)) {
            n = in.read(buffer, filled, buffer.length - filled);
            complete = n < 0;
        }
    }

    /** Returns a refused block for a line or a report that is too long, and skips that line or report. */
    private Block tooLong() throws IOException {
        String reason = (whole ? "a report" : "a line") + " of more than " + (MAX_LINE >> 20) + " MB";
        Block block = new Block(Arrays.copyOfRange(buffer, at, at + KEPT), source, ++passed, reason);
        do {
            at = filled;
            fill();
            at = firstEnd();
        } while (at == 0 && !complete);
        if (at == 0) at = filled;
        return block;
    }

    /** Is the file a report: are fewer than half of the lines that end in its first HEAD bytes JSON objects? Empty lines do not count. */
    private boolean isReport() {
        int lines = 0, objects = 0;
        for (int from = 0, end; (end = Bytes.find(buffer, from, Math.min(filled, HEAD), '\n')) >= 0; from = end + 1) {
            int last = end > from && buffer[end - 1] == '\r' ? end - 1 : end;
            if (last > from) lines++;
            if (last - from > 2 && buffer[from] == '{' && buffer[last - 1] == '}') objects++;
        }
        return objects * 2 < lines;
    }

    /** Returns the file as a line. */
    private byte[] envelope() {
        String name = source.substring(source.lastIndexOf('/') + 1), text = new String(buffer, 0, filled, UTF_8);
        return (JsonNodeFactory.instance.objectNode().put("format", "stall-input/1").put("name", name).put("text", text) + "\n").getBytes(UTF_8);
    }

    @Override public void close() throws IOException { outer.close(); }

    /** Reads files of a folder or an object store. One task reads a file from its start; a position in it is a number of blocks. */
    static final class Files implements BulkFormat<Block, FileSourceSplit> {
        @Override public BulkFormat.Reader<Block> createReader(Configuration config, FileSourceSplit split) throws IOException {
            return new BlockReader(split.path().getFileSystem().open(split.path()), split.path().getPath());
        }

        @Override public BulkFormat.Reader<Block> restoreReader(Configuration config, FileSourceSplit split) throws IOException {
            BulkFormat.Reader<Block> blocks = createReader(config, split);
            for (long left = split.getReaderPosition().map(p -> p.getRecordsAfterOffset()).orElse(0L); left > 0; left--) blocks.readBatch();
            return blocks;
        }

        @Override public boolean isSplittable() { return false; }
        @Override public TypeInformation<Block> getProducedType() { return Block.TYPE; }
    }
}
