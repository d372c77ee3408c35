package stallkit;

import java.io.IOException;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple9;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonParser;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** A row for people: bucket, version, OS and hour; title and cause of the bucket's latest dump; dumps, stalled ms, longest span in ms. A problem
 *  is such a row, too: an image without symbols, or why a line was refused and where the latest such line was, stand for bucket and title. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Row extends Tuple9<String, String, String, String, String, String, Long, Long, Long> {
    static final TypeInformation<Row> TYPE = new TupleTypeInfo<>(Row.class, Types.STRING, Types.STRING, Types.STRING, Types.STRING, Types.STRING,
                                                                 Types.STRING, Types.LONG, Types.LONG, Types.LONG);
    private static final long CAP_MS = 30_000; // what stallclassify counts of a stall at most, by default

    public Row() { }

    String key() { return f0 + '\n' + f1 + '\n' + f2 + '\n' + f3; }

    void add(Row other) {
        f4 = other.f4;
        f5 = other.f5;
        f6 += other.f6;
        f7 += other.f7;
        f8 = Math.max(f8, other.f8);
    }

    /** A dump whose app image had no symbols when it came. */
    static Row ofMissing(Dump dump) {
        Row row = new Row();
        row.setFields(dump.missing(), dump.version(), "", dump.hour(), dump.missing(), "missing symbols", 1L, 0L, 0L);
        return row;
    }

    /** A dead letter. Columns and bytes in its reason are left out: there are as many reasons as kinds of damage. */
    static Row ofDead(Block line) {
        Row row = new Row();
        row.setFields(line.f4.replaceAll("[0-9]+", "#"), "", "", Dump.NO_HOUR, line.f2 + ":" + line.f3, "refused", 1L, 0L, 0L);
        return row;
    }

    /** What an annotated dump counts; null if it is not ranked: no dump, or set apart (idle, a crash …). */
    static Row of(Dump dump) throws IOException {
        JsonNode kind = dump.kind();
        if (kind == null || kind.has("apart") || !kind.has("level1")) return null;
        JsonNode none = kind.path(""), device = none, stall = none;
        try (JsonParser p = Json.parser(dump.text(), 0, dump.text().length)) {
            for (String name; (device == none || stall == none) && (name = p.nextFieldName()) != null; p.skipChildren()) {
                p.nextToken();
                if (name.equals("device")) device = p.readValueAsTree();
                else if (name.equals("stall")) stall = p.readValueAsTree();
            }
        }
        long at = stall.path("at_ms").asLong(), span = stall.path("span_ms").asLong(-1);
        if (span < 0) span = Math.max(stall.path("duration_ms").asLong(), 0);
        // The part of the dump's span in the first 30 s of its stall: as stallclassify counts it of a dump with a span.
        long start = stall.path("seq").asLong(1) > 1 && at > 0 ? at : 0;
        Row row = new Row();
        row.setFields(kind.path("level1").asText(), dump.version(), device.path("os").asText(), dump.hour(), kind.path("title").asText(),
                      kind.path("cause").asText(), 1L, Math.min(span, Math.max(CAP_MS - start, 0)), span);
        return row;
    }
}
