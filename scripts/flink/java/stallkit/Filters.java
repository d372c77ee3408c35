package stallkit;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.Stream;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.ParameterTool;

/** The command lines of the filters. */
final class Filters implements Serializable {
    /** NAME: answer lines with dumps. COUNT: answer lines as the outputs need them, and count their dumps. COUNT_ALL: answer with heads, and count
     *  all dumps, without symbols or with them. */
    enum Work { NAME, COUNT, COUNT_ALL }

    final boolean counts;      // the filters count dumps into partials
    final boolean annotated;   // dumps are wanted with names, so answers have them
    final boolean zstd;        // dumps with names are packed with zstd
    final boolean heads;       // the head of each dump is wanted
    final boolean holds;       // dumps without symbols are held, and counted when they are released
    private final EnumMap<Work, List<List<String>>> commands = new EnumMap<>(Work.class);
    private final long timeoutMillis;

    /** --bin: folder of the commands; --symbols: stores and files, between commas; --rules: a file; --buckets: partials; --timeout: seconds. */
    Filters(ParameterTool options) {
        String partials = options.get("partials", "hour"), packing = options.get("annotated", "gzip");
        if (!packing.matches("gzip|zstd|false")) throw new IllegalArgumentException("--annotated " + packing + ": is gzip, zstd or false");
        annotated = !packing.equals("false");
        zstd = packing.equals("zstd");
        heads = annotated || options.has("rows");
        holds = options.getLong("hold", 0) > 0;
        counts = !partials.equals("none");
        timeoutMillis = options.getLong("timeout", 60) * 1000;
        String bin = options.has("bin") ? absolute(options.get("bin")) + "/" : "";
        List<String> symbols = Stream.of(options.get("symbols", "").split(",")).filter(path -> !path.isEmpty())
            .flatMap(path -> Stream.of("-d", absolute(path))).toList();
        List<String> rules = options.has("rules") ? List.of("--rules", absolute(options.get("rules"))) : List.of();
        List<String> buckets = options.has("buckets") ? List.of("--buckets", absolute(options.get("buckets"))) : List.of();
        List<String> classify = joined(List.of(bin + "stallclassify", "-j", "1", "--answer-each", "--heads"), rules, buckets);
        List<String> count = counts ? List.of("--partial", "--periods", partials.equals("day") ? "day" : "hour") : List.of("--annotate");
        List<List<String>> first = List.of(joined(List.of(bin + "stallsym", "-q", "-j", "1", "--answer-each"), symbols, List.of("-")));
        if (!annotated && !symbols.isEmpty()) { // dumps with names are not wanted, so stallclassify itself looks the names up
            classify = joined(classify, symbols);
            first = List.of();
        }
        commands.put(Work.COUNT_ALL, List.of(joined(classify, count, List.of("-"))));
        commands.put(Work.NAME, joined(first, List.of(joined(classify, List.of("--annotate", "-")))));
        if (annotated && counts) count = joined(count, List.of("--annotate"));
        if (counts && holds) count = joined(count, List.of("--skip-missing"));
        commands.put(Work.COUNT, joined(first, List.of(joined(classify, count, List.of("-")))));
    }

    @SafeVarargs private static <T> List<T> joined(List<T>... parts) {
        List<T> all = new ArrayList<>();
        for (List<T> part : parts) all.addAll(part);
        return all;
    }

    /** Returns the absolute path, which task managers in other folders find, too. Relative paths begin at the folder where the job is submitted. */
    static String absolute(String path) { return path.contains("://") ? path : Path.of(path).toAbsolutePath().normalize().toString(); }

    /** Makes filters. scratch: folder for the lines that they have counted. */
    FilterChild start(Work work, String scratch, MetricGroup metrics) {
        return new FilterChild(commands.get(work), counts && work != Work.NAME ? Path.of(scratch) : null, timeoutMillis, metrics);
    }
}
