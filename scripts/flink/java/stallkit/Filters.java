package stallkit;

import java.io.Serializable;
import java.nio.file.Path;
import java.util.*;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.util.ParameterTool;

/** The command lines of the filters. */
final class Filters implements Serializable {
    private final ArrayList<List<String>> pipeline = new ArrayList<>();
    private final ArrayList<String> partial = new ArrayList<>();
    private final long timeoutMillis;

    /** --bin: folder of the commands; --symbols: stores and files, between commas; --rules: a file; --timeout: seconds. */
    Filters(ParameterTool options) {
        String bin = options.has("bin") ? absolute(options.get("bin")) + "/" : "";
        ArrayList<String> name = new ArrayList<>(List.of(bin + "stallsym", "-q", "-j", "1", "--answer-each"));
        for (String path : options.get("symbols", "").split(",")) if (!path.isEmpty()) name.addAll(List.of("-d", absolute(path)));
        name.add("-");
        ArrayList<String> classify = new ArrayList<>(List.of(bin + "stallclassify", "-j", "1"));
        if (options.has("rules")) classify.addAll(List.of("--rules", absolute(options.get("rules"))));
        partial.addAll(classify);
        partial.addAll(List.of("--partial", "-"));
        classify.addAll(List.of("--annotate", "--answer-each", "-"));
        pipeline.add(name);
        if (options.getBoolean("annotated", true) || options.has("rows")) pipeline.add(classify); // partials need no classes
        timeoutMillis = options.getLong("timeout", 60) * 1000;
    }

    /** A path as the task managers, which run elsewhere, find it: relative ones are of the folder where the job is submitted. */
    static String absolute(String path) { return path.contains("://") ? path : Path.of(path).toAbsolutePath().normalize().toString(); }

    FilterChild start(MetricGroup metrics) { return new FilterChild(pipeline, timeoutMillis, metrics); }

    List<String> partial() { return partial; }
}
