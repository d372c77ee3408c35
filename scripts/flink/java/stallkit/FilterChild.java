package stallkit;

import java.io.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.flink.metrics.*;
import org.apache.flink.util.concurrent.ExecutorThreadFactory;

/** Filters in long-lived processes, joined by pipes: each line in is answered by one line out, in order. Used by one thread; a thread of its
 *  own writes, and one kills the processes when an answer takes too long. */
final class FilterChild implements AutoCloseable {
    private static final int BUFFER = 1 << 16;
    private static final byte[] ASK = {'[', ']', '\n'}, NONE = {}; // a line without a dump asks for the partials

    private final List<List<String>> commands;
    private final long timeoutMillis;
    private final Counter restarts, silent;
    private final ExecutorService writer = Executors.newSingleThreadExecutor(new ExecutorThreadFactory("stall-filter"));
    private final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor(new ExecutorThreadFactory("stall-watch"));
    private volatile List<Process> processes = List.of();
    private volatile long waitsSince; // in ns; 0: nothing is awaited
    private volatile boolean closed, killedForSilence;
    private byte[] text;   // the lines that were sent last
    private int[] ends;    // of each of them
    private int answered;  // how many of them
    private boolean alone; // lines are sent again, one by one
    private final Counted counted; // null: the processes count nothing
    String reason = "";    // why the last line without an answer had none
    private InputStream out;
    private byte[] buffer = new byte[BUFFER];
    private int at, filled;

    /** commands: the first reads the lines, the last one answers. timeoutMillis: the longest time without an answer. counted: of processes that give partials, too; null of others. */
    FilterChild(List<List<String>> commands, Counted counted, long timeoutMillis, MetricGroup metrics) {
        this.commands = commands;
        this.counted = counted;
        this.timeoutMillis = timeoutMillis;
        restarts = metrics.counter("restarts");
        silent = metrics.counter("silent");
        long period = Math.max(timeoutMillis / 8, 10);
        watchdog.scheduleAtFixedRate(this::killIfSilent, period, period, TimeUnit.MILLISECONDS);
    }

    private void killIfSilent() {
        long since = waitsSince;
        if (since == 0 || System.nanoTime() - since <= timeoutMillis * 1_000_000) return;
        waitsSince = 0;
        killedForSilence = true;
        kill();
    }

    private void kill() {
        for (Process p : processes) p.destroyForcibly();
    }

    private void start() throws IOException {
        if (closed) throw new IOException("the filters were stopped");
        processes = ProcessBuilder.startPipeline(commands.stream().map(c -> new ProcessBuilder(c).redirectError(ProcessBuilder.Redirect.INHERIT)).toList());
        out = processes.get(processes.size() - 1).getInputStream();
        at = filled = 0;
        killedForSilence = false;
        if (closed) kill();
    }

    /** After an answer that did not come. What the processes had counted is sent to the new ones. */
    private void restart() throws IOException, InterruptedException {
        reason = killedForSilence ? "no answer in " + timeoutMillis / 1000 + " s, twice" : "the filters died of it, twice";
        if (killedForSilence) silent.inc();
        restarts.inc();
        kill();
        for (Process p : processes) p.waitFor();
        start();
        if (counted == null) return;
        counted.forEach((lines, count) -> {
            write(lines);
            for (int left = count; left > 0; left--)
                if (read() == null) throw new IOException("the filters died of lines that they had answered");
        });
    }

    private void keep(byte[] lines, int length, int count) throws IOException {
        if (counted != null) counted.add(lines, length, count);
    }

    /** The bytes that are counted and not given yet. */
    long countedBytes() { return counted == null ? 0 : counted.bytes(); }

    /** The answer with the partials of all lines answered since the last ones, when all that were sent have an answer. */
    byte[] partials() throws IOException, InterruptedException {
        if (countedBytes() == 0) return NONE;
        byte[] answer = null;
        for (int attempt = 0; attempt < 2 && answer == null; attempt++) {
            write(ASK);
            answer = read();
            if (answer == null) restart();
        }
        if (answer == null) throw new IOException("the filters gave no partials, twice");
        counted.clear();
        return answer;
    }

    /** Sends whole lines, which end there, when all that were sent before have an answer; does not wait until they are read. */
    void send(byte[] lines, int[] ends) throws IOException {
        text = lines;
        this.ends = ends;
        answered = 0;
        alone = false;
        write(text);
    }

    private void write(byte[] lines) throws IOException {
        if (processes.isEmpty()) start();
        OutputStream in = processes.get(0).getOutputStream();
        writer.execute(() -> {
            try {
                in.write(lines);
                in.flush();
            } catch (IOException e) {
                // The processes have ended, which read() sees.
            }
        });
    }

    /** The answer to the next line, without its end of line; null: there was none twice, see `reason`. If filters die or are silent, the lines that
     *  have no answer are sent again, one by one. */
    byte[] answer() throws IOException, InterruptedException {
        int from = answered == 0 ? 0 : ends[answered - 1], to = ends[answered++];
        byte[] answer = alone ? null : read();
        if (answer != null && answered == ends.length) keep(text, text.length, answered);
        if (answer != null) return answer;
        if (!alone) {
            keep(text, from, answered - 1);
            restart();
        }
        alone = true;
        byte[] line = Arrays.copyOfRange(text, from, to);
        for (int attempt = 0; attempt < 2 && answer == null; attempt++) {
            write(line);
            answer = read();
            if (answer == null) restart();
        }
        if (answer != null) keep(line, line.length, 1);
        return answer;
    }

    /** What the processes answer next; null: they have ended without it. */
    private byte[] read() {
        int end, searched = at;
        while ((end = Bytes.find(buffer, searched, filled, '\n')) < 0) {
            searched = filled - at;
            if (!fill()) return null;
        }
        byte[] answer = Arrays.copyOfRange(buffer, at, end);
        at = end + 1;
        return answer;
    }

    private boolean fill() {
        int left = filled - at;
        buffer = Bytes.room(buffer, at, left, BUFFER, Integer.MAX_VALUE - 8);
        at = 0;
        filled = left;
        waitsSince = System.nanoTime() | 1;
        try {
            filled += Math.max(out.read(buffer, left, buffer.length - left), 0);
        } catch (IOException e) {
            return false; // closed under the reader by kill
        } finally {
            waitsSince = 0;
        }
        return filled > left;
    }

    /** Ends the processes; an answer that is awaited by another thread comes as null. */
    @Override public void close() {
        closed = true;
        kill();
        writer.shutdownNow();
        watchdog.shutdownNow();
    }
}
