package stallkit;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.Stream;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.ParameterTool;

/** The command lines of the filters. */
final class Filters implements Serializable {
    private final ArrayList<List<String>> pipeline = new ArrayList<>(), counting = new ArrayList<>();
    final List<String> partial;
    final boolean counts;      // the dumps, into partials
    final boolean annotated;   // dumps are wanted with names, so answers have them
    final boolean heads;       // the head of each dump is wanted
    final boolean holds;       // dumps without symbols are held, and not counted before
    private final long timeoutMillis;

    /** --bin: folder of the commands; --symbols: stores and files, between commas; --rules: a file; --timeout: seconds. */
    Filters(ParameterTool options) {
        String bin = options.has("bin") ? absolute(options.get("bin")) + "/" : "", partials = options.get("partials", "hour");
        List<String> symbols = new ArrayList<>(), classify = new ArrayList<>(List.of(bin + "stallclassify", "-j", "1"));
        for (String path : options.get("symbols", "").split(",")) if (!path.isEmpty()) symbols.addAll(List.of("-d", absolute(path)));
        if (options.has("rules")) classify.addAll(List.of("--rules", absolute(options.get("rules"))));
        annotated = options.getBoolean("annotated", true);
        heads = annotated || options.has("rows");
        holds = options.getLong("hold", 0) > 0;
        counts = !partials.equals("none");
        if (annotated || symbols.isEmpty()) {
            List<String> sym = joined(Stream.of(List.of(bin + "stallsym", "-q", "-j", "1", "--answer-each"), symbols, List.of("-")));
            pipeline.add(sym);
            counting.add(sym);
        } else classify.addAll(symbols); // where nobody wants dumps with names, none are written: stallclassify finds them for itself
        partial = joined(Stream.of(classify, List.of("--partial", "-")));
        classify.addAll(List.of("--answer-each", "--heads"));
        pipeline.add(joined(Stream.of(classify, List.of("--annotate", "-"))));
        if (annotated || !counts) classify.add("--annotate");
        if (counts) classify.addAll(List.of("--partial", "--periods", partials.equals("day") ? "day" : "hour"));
        if (counts && holds) classify.add("--skip-missing");
        counting.add(joined(Stream.of(classify, List.of("-"))));
        timeoutMillis = options.getLong("timeout", 60) * 1000;
    }

    private static List<String> joined(Stream<List<String>> parts) { return parts.flatMap(List::stream).toList(); }

    /** A path as the task managers, which run elsewhere, find it: relative ones are of the folder where the job is submitted. */
    static String absolute(String path) { return path.contains("://") ? path : Path.of(path).toAbsolutePath().normalize().toString(); }

    /** Those that answer lines with dumps. */
    FilterChild start(MetricGroup metrics) { return new FilterChild(pipeline, null, timeoutMillis, metrics); }

    /** Those that answer lines as the outputs need it, and count their dumps. */
    FilterChild startCounting(MetricGroup metrics, Counted counted) { return new FilterChild(counting, counts ? counted : null, timeoutMillis, metrics); }
}
