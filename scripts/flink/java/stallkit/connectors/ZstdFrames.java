package stallkit.connectors;

import com.github.luben.zstd.Zstd;
import java.io.*;

/** Packs each piece that is written as a frame of zstd; a file may have many frames. An open file needs a buffer for one frame, and no tables of the
 *  packer. */
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
