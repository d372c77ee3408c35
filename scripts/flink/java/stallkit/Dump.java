package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;

/** A dump, a session record, a refusal or a partial, as the filters answered it. f0: the head that stallclassify --heads writes. f1: the JSON, or a
 *  partial's text, as a line. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Dump extends Tuple2<byte[], byte[]> {
    static final TypeInformation<Dump> TYPE = new TupleTypeInfo<>(Dump.class, Types.PRIMITIVE_ARRAY(Types.BYTE), Types.PRIMITIVE_ARRAY(Types.BYTE));
    static final String NO_HOUR = "unknown";
    static final int LENGTH = Field.values().length - 1;

    /** The fields of a head, in their order; a tab follows each. IMAGE is the name and the id of the app's first image whose symbols are missing. */
    enum Field { KIND, ID, HOUR, VERSION, OS, IMAGE, BUCKET, CAUSE, TITLE, STALLED_MS, SPAN_MS, LENGTH }

    public Dump() { }

    Dump(byte[] head, byte[] line) { super(head, line); }

    boolean isRefusal() { return f0[0] == 'r'; }
    boolean has(Field field) { return f0[begin(field)] != '\t'; }
    byte[] line() { return f1; }
    Dump with(byte[] line) { return new Dump(f0, line); }

    String get(Field field) {
        int from = begin(field);
        return new String(f0, from, Bytes.find(f0, from, f0.length, '\t') - from, UTF_8);
    }

    /** Returns the text of a partial, in which each line ends with a line feed; in an answer it ends with a tab. */
    byte[] lines() {
        byte[] lines = Arrays.copyOf(f1, f1.length - 1);
        for (int i = 0; i < lines.length; i++) if (lines[i] == '\t') lines[i] = '\n';
        return lines;
    }

    private int begin(Field field) {
        int from = 0;
        for (int i = 0; i < field.ordinal(); i++) from = Bytes.find(f0, from, f0.length, '\t') + 1;
        return from;
    }

    /** Returns the hour in UTC, such as 2026-11-21T10; NO_HOUR: the head has none. */
    String hour() { return has(Field.HOUR) ? get(Field.HOUR) : NO_HOUR; }

    /** Returns the key by which dumps are spread over the tasks: the id, behind the kind if it is no dump; of a dump without an id "#" and a hash. */
    String key() {
        if (!has(Field.ID)) return "#" + Arrays.hashCode(f0) + Arrays.hashCode(f1);
        return f0[0] == 'd' ? get(Field.ID) : get(Field.KIND) + " " + get(Field.ID);
    }
}
