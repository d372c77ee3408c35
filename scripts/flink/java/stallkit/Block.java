package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;

/** Lines of the input, each with its end of line: their bytes, their number, where they are from, the number of the first one there; and why they
 *  are refused, or "". */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Block extends Tuple5<byte[], Integer, String, Long, String> {
    public static final TypeInformation<Block> TYPE = new TupleTypeInfo<>(
        Block.class, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, Types.INT, Types.STRING, Types.LONG, Types.STRING);

    public Block() { }

    Block(byte[] text, int lines, String source, long first, String reason) { super(text, lines, source, first, reason); }

    byte[] text() { return f0; }
    int lines() { return f1; }
    boolean refused() { return !f4.isEmpty(); }

    /** One line: its index, and where it begins in the text. */
    Block line(int index, int from) { return new Block(Arrays.copyOfRange(f0, from, end(from)), 1, f2, f3 + index, f4); }

    /** Where the line ends that begins there. */
    int end(int from) { return Bytes.find(f0, from, f0.length, '\n') + 1; }

    boolean isBlank(int from) { return Bytes.trimmed(f0, from, end(from)) == from; }

    Block refusedFor(String reason) { return new Block(f0, f1, f2, f3, reason); }

    /** The dead letter: one line of JSON. Text that is no UTF-8 is there as base64. */
    String deadLetter() {
        StringBuilder out = new StringBuilder("{\"format\":\"stall-dead-letter/1\",\"source\":").append(Bytes.quoted(f2));
        out.append(",\"line\":").append(f3).append(",\"reason\":").append(Bytes.quoted(f4));
        byte[] text = Arrays.copyOf(f0, Bytes.trimmed(f0, 0, f0.length));
        try {
            String decoded = UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
            out.append(",\"text\":").append(Bytes.quoted(decoded));
        } catch (CharacterCodingException e) {
            out.append(",\"base64\":\"").append(Base64.getEncoder().encodeToString(text)).append('"');
        }
        return out.append('}').toString();
    }
}
