package stallkit;

import java.io.IOException;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.reader.BulkFormat;
import org.apache.flink.connector.file.src.util.*;

/** Files of a folder or an object store, each read by one task from its begin; a position is a number of blocks. */
final class BlockFiles implements BulkFormat<Block, FileSourceSplit> {
    @Override public Reader<Block> createReader(Configuration config, FileSourceSplit split) throws IOException { return new FileReader(split, 0); }

    @Override public Reader<Block> restoreReader(Configuration config, FileSourceSplit split) throws IOException {
        return new FileReader(split, split.getReaderPosition().map(p -> p.getRecordsAfterOffset()).orElse(0L));
    }

    @Override public boolean isSplittable() { return false; }

    @Override public TypeInformation<Block> getProducedType() { return Block.TYPE; }

    private static final class FileReader implements Reader<Block> {
        private final BlockReader blocks;
        private long passed;

        FileReader(FileSourceSplit split, long skip) throws IOException {
            blocks = new BlockReader(split.path().getFileSystem().open(split.path()), split.path().getPath());
            while (passed < skip && blocks.next() != null) passed++;
        }

        @Override public RecordIterator<Block> readBatch() throws IOException {
            Block block = blocks.next();
            if (block == null) return null;
            SingletonResultIterator<Block> one = new SingletonResultIterator<>();
            one.set(block, RecordAndPosition.NO_OFFSET, ++passed);
            return one;
        }

        @Override public void close() throws IOException { blocks.close(); }
    }
}
