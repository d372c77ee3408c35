package stallkit;

import java.lang.invoke.*;
import java.nio.ByteOrder;
import java.util.stream.IntStream;

/** Searches bytes, eight at once, and makes room in buffers. */
final class Bytes {
    private static final VarHandle EIGHT = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long ONES = 0x0101010101010101L;

    /** Returns the place of the first byte `wanted` (ASCII) from `from` to before `end`; -1: there is none. */
    static int find(byte[] text, int from, int end, char wanted) {
        long all = ONES * wanted;
        int i = from;
        while (i + 32 <= end && (zeros(text, i, all) | zeros(text, i + 8, all) | zeros(text, i + 16, all) | zeros(text, i + 24, all)) == 0) i += 32;
        for (; i + 8 <= end; i += 8) {
            long zeros = zeros(text, i, all);
            if (zeros != 0) return i + (Long.numberOfTrailingZeros(zeros) >> 3);
        }
        for (; i < end; i++) if (text[i] == wanted) return i;
        return -1;
    }

    /** Compares the eight bytes at `at` with those of `all`. The lowest set bit of the result is in the first byte that is equal; 0: none is. */
    private static long zeros(byte[] text, int at, long all) {
        long differs = (long) EIGHT.get(text, at) ^ all;
        return differs - ONES & ~differs & ONES << 7;
    }

    private static int lineEnd(byte[] text, int from) { return find(text, from, text.length, '\n') + 1; }

    /** Returns the place behind each end of line. */
    static int[] ends(byte[] text) { return IntStream.iterate(lineEnd(text, 0), end -> end > 0, end -> lineEnd(text, end)).toArray(); }

    /** Returns a buffer that begins with the `left` bytes from `at` on of the given buffer. Its size is `least` bytes, or, if `left` is not less, 2 *
     *  `left`, but at most `most`. */
    static byte[] room(byte[] buffer, int at, int left, int least, int most) {
        int size = left < least ? least : (int) Math.min(2L * left, most);
        byte[] to = size == buffer.length ? buffer : new byte[size];
        System.arraycopy(buffer, at, to, 0, left);
        return to;
    }

    /** Returns the place behind the last byte that is no white space; `from`: all bytes are white space. */
    static int trimmed(byte[] text, int from, int to) {
        int end = to;
        while (end > from && " \t\r\n".indexOf(text[end - 1]) >= 0) end--;
        return end;
    }
}
