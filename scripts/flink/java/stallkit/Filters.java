package stallkit;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.Stream;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.ParameterTool;

/** The command lines of the filters. */
final class Filters implements Serializable {
    private final ArrayList<List<String>> pipeline = new ArrayList<>();
    final List<String> partial;
    private final long timeoutMillis;

    /** --bin: folder of the commands; --symbols: stores and files, between commas; --rules: a file; --timeout: seconds. */
    Filters(ParameterTool options) {
        String bin = options.has("bin") ? absolute(options.get("bin")) + "/" : "";
        List<String> symbols = new ArrayList<>(), classify = new ArrayList<>(List.of(bin + "stallclassify", "-j", "1"));
        for (String path : options.get("symbols", "").split(",")) if (!path.isEmpty()) symbols.addAll(List.of("-d", absolute(path)));
        if (options.has("rules")) classify.addAll(List.of("--rules", absolute(options.get("rules"))));
        if (options.getBoolean("annotated", true) || symbols.isEmpty())
            pipeline.add(joined(Stream.of(List.of(bin + "stallsym", "-q", "-j", "1", "--answer-each"), symbols, List.of("-"))));
        else classify.addAll(symbols); // where nobody wants dumps with names, none are written: stallclassify finds them for itself
        pipeline.add(joined(Stream.of(classify, List.of("--annotate", "--answer-each", "--heads", "-"))));
        partial = joined(Stream.of(classify, List.of("--partial", "-")));
        timeoutMillis = options.getLong("timeout", 60) * 1000;
    }

    private static List<String> joined(Stream<List<String>> parts) { return parts.flatMap(List::stream).toList(); }

    /** A path as the task managers, which run elsewhere, find it: relative ones are of the folder where the job is submitted. */
    static String absolute(String path) { return path.contains("://") ? path : Path.of(path).toAbsolutePath().normalize().toString(); }

    FilterChild start(MetricGroup metrics) { return new FilterChild(pipeline, timeoutMillis, metrics); }
}
