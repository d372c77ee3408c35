package stallkit;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.flink.metrics.*;
import org.apache.flink.util.concurrent.ExecutorThreadFactory;

/** Filters in long-lived processes, joined by pipes: each line in is answered by one line out, in order. Used by one thread; a thread of its
 *  own writes, and one kills the processes when an answer takes too long. */
final class FilterChild implements AutoCloseable {
    private static final int BUFFER = 1 << 16;
    private static final long MOST_COUNTED = 512 << 20; // bytes of lines that are sent again when the processes die
    private static final byte[] ASK = {'[', ']', '\n'}; // a line without a dump asks for the partials

    private final List<List<String>> commands;
    private final long timeoutMillis;
    private final Counter restarts, silent;
    private final ExecutorService writer = Executors.newSingleThreadExecutor(new ExecutorThreadFactory("stall-filter"));
    private final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor(new ExecutorThreadFactory("stall-watch"));
    private volatile List<Process> processes = List.of();
    private volatile long waitsSince; // in ns; 0: nothing is awaited
    private volatile boolean closed, killedForSilence;
    private byte[] text;   // the lines that were sent last
    private int count;     // of them
    private int answered;  // how many of them
    private boolean alone; // lines are sent again, one by one
    private final Counted counted; // null: the processes count nothing
    private String reason = ""; // why the last line without an answer had none
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

    /** Should the partials be given before more is counted? */
    boolean hasCountedMuch() { return counted != null && counted.bytes() > MOST_COUNTED; }

    /** The partials of all lines answered since the last ones, when all that were sent have an answer. */
    List<Dump> partials() throws IOException, InterruptedException {
        if (counted == null || counted.bytes() == 0) return List.of();
        List<Dump> partials = ask(ASK);
        if (partials == null) throw new IOException("the filters gave no partials, twice");
        for (Dump partial : partials) if (partial.isRefusal()) throw new IOException(partial.get(Dump.Field.TITLE));
        counted.clear();
        return partials;
    }

    /** Sends whole lines when all that were sent before have an answer; does not wait until they are read. */
    void send(byte[] lines, int count) throws IOException {
        text = lines;
        this.count = count;
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

    /** Adds the dumps of the answer to the next line to `dumps`; returns why it, or a part of it, gave none ("": nothing was refused). */
    String answer(List<Dump> dumps) throws IOException, InterruptedException {
        List<Dump> answer = answer();
        if (answer == null) return reason;
        StringJoiner refused = new StringJoiner("; ");
        for (Dump dump : answer)
            if (dump.isRefusal()) refused.add(dump.get(Dump.Field.TITLE));
            else dumps.add(dump);
        return refused.toString();
    }

    /** The answer to the next line; null: there was none twice, see `reason`. If filters die or are silent, the lines that have no answer are sent
     *  again, one by one. */
    private List<Dump> answer() throws IOException, InterruptedException {
        List<Dump> answer = alone ? null : read();
        int index = answered++;
        if (answer != null) {
            if (answered == count) keep(text, text.length, count);
            return answer;
        }
        int[] ends = Bytes.ends(text);
        int begin = index == 0 ? 0 : ends[index - 1];
        if (!alone) {
            keep(text, begin, index);
            restart();
        }
        alone = true;
        byte[] line = Arrays.copyOfRange(text, begin, ends[index]);
        answer = ask(line);
        if (answer != null) keep(line, line.length, 1);
        return answer;
    }

    /** The answer to this line, which is sent up to two times; null: there was none. */
    private List<Dump> ask(byte[] line) throws IOException, InterruptedException {
        List<Dump> answer = null;
        for (int attempt = 0; attempt < 2 && answer == null; attempt++) {
            write(line);
            answer = read();
            if (answer == null) restart();
        }
        return answer;
    }

    /** What the processes answer next, a line of heads and of dumps, whose lengths the heads have; null: they have ended without it. */
    private List<Dump> read() throws IOException {
        List<Dump> dumps = new ArrayList<>(1);
        while (has(1) && buffer[at] != '\n') {
            int text = 0, length = 0; // where JSON and its length begin, behind `at`
            for (int field = 0; field <= Dump.LENGTH; field++) {
                length = text;
                text = tab(text) + 1;
                if (text == 0) return null;
            }
            int end = text + Integer.parseInt(new String(buffer, at + length, text - 1 - length, StandardCharsets.UTF_8));
            if (!has(end + 1)) return null;
            dumps.add(new Dump(Arrays.copyOfRange(buffer, at, at + end), text));
            at += buffer[at + end] == '\t' ? end + 1 : end;
        }
        if (at == filled) return null;
        at++;
        return dumps;
    }

    /** Are so many bytes there, behind `at`? If they are not, the processes have ended. */
    private boolean has(int bytes) {
        while (filled - at < bytes)
            if (!fill()) return false;
        return true;
    }

    /** The next tab, from there on, behind `at`; -1: the processes have ended before it. */
    private int tab(int from) {
        int found, searched = from;
        while ((found = Bytes.find(buffer, at + searched, filled, '\t')) < 0) {
            searched = filled - at;
            if (!fill()) return -1;
        }
        return found - at;
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
    @Override public void close() throws IOException {
        closed = true;
        kill();
        writer.shutdownNow();
        watchdog.shutdownNow();
        if (counted != null) counted.close();
    }
}
