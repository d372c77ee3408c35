package stallkit;

import java.io.IOException;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.reader.BulkFormat;

/** Files of a folder or an object store, each read by one task from its begin; a position is a number of blocks. */
final class BlockFiles implements BulkFormat<Block, FileSourceSplit> {
    @Override public Reader<Block> createReader(Configuration config, FileSourceSplit split) throws IOException {
        return new BlockReader(split.path().getFileSystem().open(split.path()), split.path().getPath());
    }

    @Override public Reader<Block> restoreReader(Configuration config, FileSourceSplit split) throws IOException {
        Reader<Block> blocks = createReader(config, split);
        for (long left = split.getReaderPosition().map(p -> p.getRecordsAfterOffset()).orElse(0L); left > 0; left--) blocks.readBatch();
        return blocks;
    }

    @Override public boolean isSplittable() { return false; }

    @Override public TypeInformation<Block> getProducedType() { return Block.TYPE; }
}
