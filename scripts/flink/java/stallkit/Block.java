package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple7;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.*;

/** Lines of the input, each with its end of line: their bytes, where each of them ends, where they are from, the number of the first one there; why they
 *  are refused, or ""; the key of all of them, or "" where each begins with its own; and their numbers there, where these do not follow each other. */
@SuppressWarnings({"unchecked", "deprecation"}) // of the copy() that all tuples have; an id is ASCII
public final class Block extends Tuple7<byte[], int[], String, Long, String, String, long[]> {
    public static final TypeInformation<Block> TYPE = new TupleTypeInfo<>(
        Block.class, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, PrimitiveArrayTypeInfo.INT_PRIMITIVE_ARRAY_TYPE_INFO, Types.STRING, Types.LONG, Types.STRING,
        Types.STRING, PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO);
    private static final byte[] BEGIN = "{\"format\":\"stall-dump/1\",\"id\":\"".getBytes(UTF_8);
    private static final int MAX_ID = 64;
    private static final long[] FOLLOWING = {};

    private transient String[] keys; // those of the lines that were asked for

    public Block() { }

    Block(byte[] text, int[] ends, String source, long first, String reason) { super(text, ends, source, first, reason, "", FOLLOWING); }

    /** One line. */
    Block(byte[] text, String source, long number, String reason) { this(text, new int[] {text.length}, source, number, reason); }

    /** Lines of this one, with their ends and numbers. */
    Block part(byte[] text, int[] ends, long[] numbers) {
        Block part = new Block(text, ends, f2, numbers[0], f4);
        part.f5 = f5;
        part.f6 = numbers;
        return part;
    }

    /** One line that stands for a line of this one, and its key. */
    Block answered(int index, byte[] text, String key) {
        Block line = new Block(text, f2, number(index), "");
        line.f5 = key;
        return line;
    }

    byte[] text() { return f0; }
    int[] ends() { return f1; }
    int lines() { return f1.length; }
    boolean refused() { return !f4.isEmpty(); }

    long number(int index) { return f6.length == 0 ? f3 + index : f6[index]; }

    /** Of the first line, by which a block is given to a task: all of its lines are of that task. */
    String key() { return key(0, 0); }

    /** The key of a line: its index, and where it begins. */
    String key(int index, int from) {
        if (!f5.isEmpty()) return f5;
        if (keys == null) keys = new String[f1.length];
        return keys[index] == null ? keys[index] = key(from) : keys[index];
    }

    /** The id of a dump that begins with it, there; "": it does not. */
    private String key(int from) {
        int id = from + BEGIN.length, end = id;
        if (!Arrays.equals(f0, from, Math.min(id, f0.length), BEGIN, 0, BEGIN.length)) return "";
        while (end < f0.length && end - id <= MAX_ID && isOfId(f0[end])) end++;
        return end < f0.length && f0[end] == '"' && end - id <= MAX_ID ? new String(f0, 0, id, end - id) : "";
    }

    private static boolean isOfId(byte c) { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-'; }

    /** One line, refused: its index, and where it begins in the text. */
    Block refusedLine(int index, int from, String reason) { return new Block(Arrays.copyOfRange(f0, from, end(index)), f2, number(index), reason); }

    /** Behind the line with this index. */
    int end(int index) { return f1[index]; }

    boolean isBlank(int index, int from) { return Bytes.trimmed(f0, from, end(index)) == from; }

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
