package stallkit;

import java.io.*;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.Stream;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.util.ParameterTool;

/** The command lines of the filters. */
final class Filters implements Serializable {
    private final ArrayList<List<String>> pipeline = new ArrayList<>(), counting = new ArrayList<>(), countingAll = new ArrayList<>();
    final boolean counts;      // the filters count dumps into partials
    final boolean annotated;   // dumps are wanted with names, so answers have them
    final boolean zstd;        // dumps with names are packed with zstd
    final boolean heads;       // the head of each dump is wanted
    final boolean holds;       // dumps without symbols are held, and counted when they are released
    private final long timeoutMillis;

    /** --bin: folder of the commands; --symbols: stores and files, between commas; --rules: a file; --timeout: seconds. */
    Filters(ParameterTool options) {
        String bin = options.has("bin") ? absolute(options.get("bin")) + "/" : "", partials = options.get("partials", "hour");
        List<String> symbols = new ArrayList<>(), classify = new ArrayList<>(List.of(bin + "stallclassify", "-j", "1"));
        for (String path : options.get("symbols", "").split(",")) if (!path.isEmpty()) symbols.addAll(List.of("-d", absolute(path)));
        if (options.has("rules")) classify.addAll(List.of("--rules", absolute(options.get("rules"))));
        String packing = options.get("annotated", "gzip");
        if (!List.of("gzip", "zstd", "false").contains(packing)) throw new IllegalArgumentException("--annotated " + packing + ": is gzip, zstd or false");
        annotated = !packing.equals("false");
        zstd = packing.equals("zstd");
        heads = annotated || options.has("rows");
        holds = options.getLong("hold", 0) > 0;
        counts = !partials.equals("none");
        if (annotated || symbols.isEmpty()) {
            List<String> sym = joined(Stream.of(List.of(bin + "stallsym", "-q", "-j", "1", "--answer-each"), symbols, List.of("-")));
            pipeline.add(sym);
            counting.add(sym);
        } else classify.addAll(symbols); // dumps with names are not wanted, so stallclassify itself looks the names up, and none are written
        classify.addAll(List.of("--answer-each", "--heads"));
        pipeline.add(joined(Stream.of(classify, List.of("--annotate", "-"))));
        List<String> partial = List.of("--partial", "--periods", partials.equals("day") ? "day" : "hour");
        countingAll.add(joined(Stream.of(classify, partial, List.of("-"))));
        if (annotated || !counts) classify.add("--annotate");
        if (counts) classify.addAll(partial);
        if (counts && holds) classify.add("--skip-missing");
        counting.add(joined(Stream.of(classify, List.of("-"))));
        timeoutMillis = options.getLong("timeout", 60) * 1000;
    }

    private static List<String> joined(Stream<List<String>> parts) { return parts.flatMap(List::stream).toList(); }

    /** Returns the absolute path, which task managers in other folders find, too. Relative paths begin at the folder where the job is submitted. */
    static String absolute(String path) { return path.contains("://") ? path : Path.of(path).toAbsolutePath().normalize().toString(); }

    /** Makes filters that answer lines with dumps. */
    FilterChild start(MetricGroup metrics) { return new FilterChild(pipeline, null, timeoutMillis, metrics); }

    /** Makes filters that answer lines as the outputs need them, and count their dumps. The filters end when the task is cancelled. */
    FilterChild startCounting(MetricGroup metrics, StreamTask<?, ?> task) throws IOException { return start(counting, metrics, task); }

    /** Makes filters that answer with heads, and count all dumps, without symbols or with them. They end when the task is cancelled. */
    FilterChild startCountingAll(MetricGroup metrics, StreamTask<?, ?> task) throws IOException { return start(countingAll, metrics, task); }

    private FilterChild start(ArrayList<List<String>> commands, MetricGroup metrics, StreamTask<?, ?> task) throws IOException {
        Counted counted = counts ? new Counted(task.getEnvironment().getTaskManagerInfo().getTmpDirectories()[0]) : null;
        FilterChild child = new FilterChild(commands, counted, timeoutMillis, metrics);
        task.getCancelables().registerCloseable(child::close);
        return child;
    }
}
