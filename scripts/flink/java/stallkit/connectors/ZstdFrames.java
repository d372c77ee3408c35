package stallkit.connectors;

import com.github.luben.zstd.Zstd;
import java.io.*;

/** Each piece that is written becomes a frame of zstd; frames behind each other are one file. An open file has a buffer of a frame, and no tables. */
public final class ZstdFrames extends OutputStream {
    private static final int LEVEL = 1;
    private final OutputStream out;
    private byte[] frame = {};

    public ZstdFrames(OutputStream out) { this.out = out; }

    @Override public void write(int b) throws IOException { write(new byte[] {(byte) b}, 0, 1); }

    @Override public void write(byte[] text, int from, int length) throws IOException {
        if (length == 0) return;
        int bound = Math.toIntExact(Zstd.compressBound(length));
        if (frame.length < bound) frame = new byte[bound];
        long packed = Zstd.compressByteArray(frame, 0, frame.length, text, from, length, LEVEL);
        if (Zstd.isError(packed)) throw new IOException("zstd: " + Zstd.getErrorName(packed));
        out.write(frame, 0, (int) packed);
    }
}
