package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;

/** A dump, a session record, a refusal or a partial, as the filters answered it. f0: the head that stallclassify --heads writes, then the JSON or the
 *  partial's text. f1: where the head ends. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Dump extends Tuple2<byte[], Integer> {
    static final TypeInformation<Dump> TYPE = new TupleTypeInfo<>(Dump.class, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, Types.INT);
    static final String NO_HOUR = "unknown";
    static final int LENGTH = Field.values().length - 1;

    /** The fields of a head, in their order; a tab follows each. IMAGE is the name and the id of the app's first image whose symbols are missing. */
    enum Field { KIND, ID, HOUR, VERSION, OS, IMAGE, BUCKET, CAUSE, TITLE, STALLED_MS, SPAN_MS, LENGTH }

    public Dump() { }

    Dump(byte[] answer, int text) { super(answer, text); }

    boolean isRefusal() { return f0[0] == 'r'; }

    String get(Field field) {
        int from = begin(field);
        return new String(f0, from, Bytes.find(f0, from, f0.length, '\t') - from, UTF_8);
    }

    boolean has(Field field) { return f0[begin(field)] != '\t'; }

    private int begin(Field field) {
        int from = 0;
        for (int i = 0; i < field.ordinal(); i++) from = Bytes.find(f0, from, f0.length, '\t') + 1;
        return from;
    }

    /** Returns the hour in UTC, such as 2026-11-21T10; NO_HOUR: the head has none. */
    String hour() { return has(Field.HOUR) ? get(Field.HOUR) : NO_HOUR; }

    /** Returns the key by which dumps are spread over the tasks: the id, behind the kind if it is no dump; of a dump without an id "#" and a hash. */
    String key() {
        if (!has(Field.ID)) return "#" + Arrays.hashCode(f0);
        return f0[0] == 'd' ? get(Field.ID) : get(Field.KIND) + " " + get(Field.ID);
    }

    /** Writes the JSON as a line. */
    void writeTo(OutputStream out) throws IOException {
        out.write(f0, f1, f0.length - f1);
        out.write('\n');
    }

    /** Returns a dump of the same head and the bytes `from` to `to` of `text` in place of the JSON. */
    Dump with(byte[] text, int from, int to) {
        Dump dump = new Dump(Arrays.copyOf(f0, f1 + to - from), f1);
        System.arraycopy(text, from, dump.f0, f1, to - from);
        return dump;
    }

    /** Returns the JSON as a line. */
    byte[] line() {
        byte[] line = Arrays.copyOfRange(f0, f1, f0.length + 1);
        line[line.length - 1] = '\n';
        return line;
    }

    /** Returns the text of a partial, in which each line ends with a line feed; in an answer it ends with a tab. */
    byte[] textOfLines() {
        byte[] text = text();
        for (int i = 0; i < text.length; i++) if (text[i] == '\t') text[i] = '\n';
        return text;
    }

    byte[] text() { return Arrays.copyOfRange(f0, f1, f0.length); }
}
