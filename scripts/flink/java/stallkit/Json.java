package stallkit;

import java.io.IOException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.*;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.io.JsonStringEncoder;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.*;

/** JSON by the parser that comes with Flink. What the filters let pass is not refused here, however long or deep it is. */
final class Json {
    private static final StreamReadConstraints NONE = StreamReadConstraints.builder().maxNestingDepth(Integer.MAX_VALUE)
        .maxStringLength(Integer.MAX_VALUE).maxNumberLength(Integer.MAX_VALUE).maxNameLength(Integer.MAX_VALUE).build();
    private static final ObjectMapper MAPPER = new ObjectMapper(JsonFactory.builder().streamReadConstraints(NONE).build());

    private Json() { }

    /** A parser behind the first token of a part of a text. */
    static JsonParser parser(byte[] text, int from, int to) throws IOException {
        JsonParser p = MAPPER.getFactory().createParser(text, from, to - from);
        p.nextToken();
        return p;
    }

    /** The value that begins there, as a tree. */
    static JsonNode tree(byte[] text, int from, int to) throws IOException { return MAPPER.readTree(text, from, to - from); }

    /** The string or number that is a member of the object at which the parser stands, which is passed; "": there is none. */
    static String member(JsonParser p, String name) throws IOException {
        String value = "";
        if (!p.isExpectedStartObjectToken()) p.skipChildren();
        else for (String next; (next = p.nextFieldName()) != null;) {
            p.nextToken();
            if (next.equals(name) && p.currentToken().isScalarValue()) value = p.getText();
            p.skipChildren();
        }
        return value;
    }

    /** A text as a JSON string. */
    static String quoted(String text) {
        StringBuilder out = new StringBuilder(text.length() + 16).append('"');
        JsonStringEncoder.getInstance().quoteAsString(text, out);
        return out.append('"').toString();
    }
}
