package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.*;

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

    /** One line, refused: its index, and where it begins in the text. */
    Block refusedLine(int index, int from, String reason) { return new Block(Arrays.copyOfRange(f0, from, end(from)), 1, f2, f3 + index, reason); }

    /** Where the line ends that begins there. */
    int end(int from) { return Bytes.find(f0, from, f0.length, '\n') + 1; }

    boolean isBlank(int from) { return Bytes.trimmed(f0, from, end(from)) == from; }

    /** The dead letter: one line of JSON. Text that is no UTF-8 is there as base64. */
    String deadLetter() {
        ObjectNode letter = JsonNodeFactory.instance.objectNode().put("format", "stall-dead-letter/1").put("source", f2).put("line", f3).put("reason", f4);
        byte[] text = Arrays.copyOf(f0, Bytes.trimmed(f0, 0, f0.length));
        try {
            letter.put("text", UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString());
        } catch (CharacterCodingException e) {
            letter.put("base64", text);
        }
        return letter.toString();
    }
}
