package stallkit;

import static java.nio.charset.StandardCharsets.*;

import java.io.ByteArrayOutputStream;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple6;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.*;

/** Lines of the input, each with its end of line. The fields: f0, the bytes of the lines; f1, the source, where they are from; f2, the number of
 *  the first line in the source; f3, why the lines are refused, or ""; f4, the key of all of them, or "" if each line begins with a key of its own;
 *  f5, the numbers of the lines in the source, or nothing if they follow each other. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Block extends Tuple6<byte[], String, Long, String, String, long[]> {
    public static final TypeInformation<Block> TYPE = new TupleTypeInfo<>(
        Block.class, Types.PRIMITIVE_ARRAY(Types.BYTE), Types.STRING, Types.LONG, Types.STRING, Types.STRING, Types.PRIMITIVE_ARRAY(Types.LONG));
    private static final byte[] BEGIN = "{\"format\":\"stall-dump/1\",\"id\":\"".getBytes(UTF_8);
    private static final int MAX_ID = 64;

    private transient int[] ends;    // where each line ends; null: not looked for yet
    private transient String[] keys; // key of each line; null: not looked for yet

    public Block() { }

    Block(byte[] text, String source, long first, String reason) { this(text, source, first, reason, "", new long[0]); }

    private Block(byte[] text, String source, long first, String reason, String key, long[] numbers) {
        super(text, source, first, reason, key, numbers);
    }

    byte[] text() { return f0; }
    String source() { return f1; }
    String reason() { return f3; }
    boolean refused() { return !f3.isEmpty(); }

    private int[] ends() { return ends == null ? ends = Bytes.ends(f0) : ends; }
    int lines() { return ends().length; }
    int begin(int index) { return index == 0 ? 0 : ends()[index - 1]; }
    byte[] line(int index) { return Arrays.copyOfRange(f0, begin(index), ends()[index]); }
    long number(int index) { return f5.length == 0 ? f2 + index : f5[index]; }
    boolean isBlank(int index) { return Bytes.trimmed(f0, begin(index), ends()[index]) == begin(index); }

    /** Returns a block of the lines with these indices. */
    Block part(BitSet wanted) {
        if (wanted.cardinality() == lines()) return this;
        ByteArrayOutputStream text = new ByteArrayOutputStream(f0.length);
        wanted.stream().forEach(i -> text.write(f0, begin(i), ends()[i] - begin(i)));
        long[] numbers = wanted.stream().mapToLong(this::number).toArray();
        return new Block(text.toByteArray(), f1, f2, f3, f4, numbers);
    }

    /** Returns a block of one line, which stands for the line with this index and has this key. */
    Block answered(int index, byte[] text, String key) { return new Block(text, f1, number(index), "", key, new long[0]); }

    /** Returns a refused block of the line with this index. */
    Block refusedLine(int index, String reason) { return new Block(line(index), f1, number(index), reason); }

    /** The key of the first line, by which a block is given to a task; the keys of its other lines belong to the same task. */
    String key() { return key(0); }

    /** The key of a line: f4, or the id of a dump that begins with its format and its id; "": the line begins with something else. */
    String key(int index) {
        if (!f4.isEmpty()) return f4;
        if (keys == null) keys = new String[lines()];
        return keys[index] == null ? keys[index] = idAt(begin(index)) : keys[index];
    }

    private String idAt(int from) {
        int id = from + BEGIN.length, end = id;
        if (!Arrays.equals(f0, from, Math.min(id, f0.length), BEGIN, 0, BEGIN.length)) return "";
        while (end < f0.length && end - id <= MAX_ID && (Character.isLetterOrDigit(f0[end]) || f0[end] == '-')) end++;
        return end < f0.length && f0[end] == '"' && end - id <= MAX_ID ? new String(f0, id, end - id, ISO_8859_1) : "";
    }

    /** Returns the dead letter of a refused block: one line of JSON. A text that is not UTF-8 is in it as base64. */
    String deadLetter() {
        ObjectNode letter = JsonNodeFactory.instance.objectNode().put("format", "stall-dead-letter/1").put("source", f1).put("line", f2);
        letter.put("reason", f3);
        byte[] bytes = Arrays.copyOf(f0, Bytes.trimmed(f0, 0, f0.length));
        String text = new String(bytes, UTF_8);
        return (Arrays.equals(text.getBytes(UTF_8), bytes) ? letter.put("text", text) : letter.put("base64", bytes)) + "\n";
    }
}
