package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple7;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.*;

/** Lines of the input, each with its end of line: their bytes, their number, where they are from, the number of the first one there; why they
 *  are refused, or ""; the key of all of them, or "" where each begins with its own; and their numbers there, where these do not follow each other. */
@SuppressWarnings({"unchecked", "deprecation"}) // of the copy() that all tuples have; an id is ASCII
public final class Block extends Tuple7<byte[], Integer, String, Long, String, String, long[]> {
    public static final TypeInformation<Block> TYPE = new TupleTypeInfo<>(
        Block.class, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, Types.INT, Types.STRING, Types.LONG, Types.STRING,
        Types.STRING, PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO);
    private static final byte[] BEGIN = "{\"format\":\"stall-dump/1\",\"id\":\"".getBytes(UTF_8);
    private static final int MAX_ID = 64;
    private static final long[] FOLLOWING = {};

    public Block() { }

    Block(byte[] text, int lines, String source, long first, String reason) { super(text, lines, source, first, reason, "", FOLLOWING); }

    /** Lines of this one, with their numbers. */
    Block part(byte[] text, long[] numbers) {
        Block part = new Block(text, numbers.length, f2, numbers[0], f4);
        part.f5 = f5;
        part.f6 = numbers;
        return part;
    }

    /** One line that stands for a line of this one, and its key. */
    Block answered(int index, byte[] text, String key) {
        Block line = new Block(text, 1, f2, number(index), "");
        line.f5 = key;
        return line;
    }

    byte[] text() { return f0; }
    int lines() { return f1; }
    boolean refused() { return !f4.isEmpty(); }

    long number(int index) { return f6.length == 0 ? f3 + index : f6[index]; }

    /** Of the first line, by which a block is given to a task: all of its lines are of that task. */
    String key() { return key(0); }

    /** The key of the line that begins there: the id of a dump that begins with it; "": it does not. */
    String key(int from) {
        if (!f5.isEmpty()) return f5;
        int id = from + BEGIN.length, end = id;
        if (!Arrays.equals(f0, from, Math.min(id, f0.length), BEGIN, 0, BEGIN.length)) return "";
        while (end < f0.length && end - id <= MAX_ID && isOfId(f0[end])) end++;
        return end < f0.length && f0[end] == '"' && end - id <= MAX_ID ? new String(f0, 0, id, end - id) : "";
    }

    private static boolean isOfId(byte c) { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-'; }

    /** One line, refused: its index, and where it begins in the text. */
    Block refusedLine(int index, int from, String reason) { return new Block(Arrays.copyOfRange(f0, from, end(from)), 1, f2, number(index), reason); }

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
