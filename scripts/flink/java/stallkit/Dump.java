package stallkit;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.*;
import java.util.*;
import org.apache.flink.api.common.typeinfo.*;
import org.apache.flink.api.java.tuple.Tuple6;
import org.apache.flink.api.java.typeutils.TupleTypeInfo;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.*;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** A dump, or a record of a session, as the filters answered it: its bytes, id ("": none), hour ("2026-11-21T10", in UTC), version of the app,
 *  and id and name of the first image of the app whose symbols are missing ("": none); then where what stallclassify --annotate added begins, up to the last brace; 0: it added nothing. */
@SuppressWarnings("unchecked") // of the copy() that all tuples have
public final class Dump extends Tuple6<byte[], String, String, String, String, Integer> {
    static final TypeInformation<Dump> TYPE = new TupleTypeInfo<>(
        Dump.class, PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO, Types.STRING, Types.STRING, Types.STRING, Types.STRING,
        Types.INT);
    static final String NO_HOUR = "unknown";
    private static final byte[] CLASS = ",\"class\":".getBytes(US_ASCII); // nowhere in a string, in which quotes have a backslash before them
    private static final String HOUR = "0000-00-00T00";

    public Dump() { }

    byte[] text() { return f0; }
    String id() { return f1; }
    String hour() { return f2; }
    String version() { return f3; }
    String missing() { return f4; }

    /** By what dumps are spread over the tasks: the id, or anything of those that have none. */
    String key() { return f1.isEmpty() ? "#" + Arrays.hashCode(f0) : f1; }

    /** This dump as stallsym had written it, with an end of line. */
    Dump withoutClass() {
        ByteArrayOutputStream text = new ByteArrayOutputStream(f0.length);
        writeWithoutClass(text);
        Dump d = new Dump();
        d.setFields(text.toByteArray(), f1, f2, f3, f4, 0);
        return d;
    }

    /** Writes a line: the dump without the member that stallclassify --annotate added, as stallsym had written it. */
    void writeWithoutClass(ByteArrayOutputStream out) {
        out.write(f0, 0, f5 == 0 ? f0.length : f5);
        if (f5 != 0) out.write('}');
        out.write('\n');
    }

    /** The member "class"; null: stallclassify added none. */
    JsonNode kind() throws IOException { return f5 == 0 ? null : Json.tree(f0, f5 + CLASS.length, f0.length - 1); }

    /** Adds the dumps of an answer to `dumps`; returns why the line, or a part of it, gave none ("": nothing was refused). */
    static String ofAnswer(byte[] answer, List<Dump> dumps) {
        StringJoiner refused = new StringJoiner("; ");
        try {
            if (answer.length == 0 || answer[0] != '[') add(answer, dumps, refused);
            else
                try (JsonParser p = Json.parser(answer, 0, answer.length)) {
                    while (p.nextToken() == JsonToken.START_OBJECT) {
                        int from = (int) p.currentTokenLocation().getByteOffset();
                        p.skipChildren();
                        add(Arrays.copyOfRange(answer, from, (int) p.currentLocation().getByteOffset()), dumps, refused);
                    }
                }
        } catch (IOException e) {
            refused.add("the filters' answer is damaged: " + e.getMessage());
        }
        return refused.toString();
    }

    private static void add(byte[] text, List<Dump> dumps, StringJoiner refused) throws IOException {
        String format = "", id = "", time = "", version = "", missing = "", reason = "";
        try (JsonParser p = Json.parser(text, 0, text.length)) {
            int wanted = 5; // as soon as all are there, the rest is not read
            for (String name; wanted > 0 && (name = p.nextFieldName()) != null; wanted--) {
                p.nextToken();
                switch (name) {
                    case "format" -> format = p.getText();
                    case "id" -> id = p.getText();
                    case "time" -> time = p.getText();
                    case "app" -> version = Json.member(p, "version");
                    case "images" -> missing = missingImage(p);
                    case "reason" -> reason = p.getText();
                    default -> {
                        p.skipChildren();
                        wanted++;
                    }
                }
            }
        }
        if (format.equals("stall-refused/1")) {
            refused.add(reason);
            return;
        }
        if (!id.isEmpty() && format.startsWith("stall-session/")) id = "session " + id;
        Dump d = new Dump();
        d.setFields(text, id, hourOf(time), version, missing, format.startsWith("stall-dump/") ? Math.max(Bytes.findLast(text, CLASS), 0) : 0);
        dumps.add(d);
    }

    private static String missingImage(JsonParser p) throws IOException {
        String missing = "";
        if (!p.isExpectedStartArrayToken()) return missing;
        while (p.nextToken() == JsonToken.START_OBJECT) {
            String id = "", image = "", symbols = "", name;
            boolean inApp = false;
            for (; (name = p.nextFieldName()) != null; p.skipChildren()) {
                JsonToken value = p.nextToken();
                if (name.equals("symbols")) symbols = p.getText();
                else if (name.equals("in_app")) inApp = value == JsonToken.VALUE_TRUE;
                else if (name.equals("name")) image = p.getText();
                else if (name.equals("uuid") || name.equals("build_id")) id = p.getText();
            }
            // A store that has another build of the image may get this one, too.
            boolean none = symbols.equals("missing") || symbols.endsWith("-mismatch");
            if (none && inApp && missing.isEmpty() && !id.isEmpty()) missing = id + " " + image;
        }
        return missing;
    }

    /** The hour of an RFC 3339 time in UTC; times are the phones' own and may be anything. */
    private static String hourOf(String time) {
        if (time.length() < HOUR.length()) return NO_HOUR;
        for (int i = 0; i < HOUR.length(); i++) {
            char c = time.charAt(i), form = HOUR.charAt(i);
            if (form == '0' ? c < '0' || c > '9' : c != form) return NO_HOUR;
        }
        return time.substring(0, HOUR.length());
    }
}
