package stallkit;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.flink.metrics.*;
import org.apache.flink.util.concurrent.ExecutorThreadFactory;

/** Runs filters in long-lived processes, which pipes join. They answer each line with one line, in order. One thread uses the object; a second
 *  thread, of the object itself, writes to the filters, and a third one kills the processes when an answer takes too long. */
final class FilterChild implements AutoCloseable {
    private static final int BUFFER = 1 << 16;
    private static final long MOST_COUNTED = 512 << 20; // bytes of counted lines, which are sent again when the processes die, past which hasCountedMuch is true
    private static final byte[] ASK = {'[', ']', '\n'}; // asks for the partials, as does any line without a dump

    private final List<List<String>> commands;
    private final long timeoutMillis;
    private final Counter restarts, silent;
    private final ExecutorService writer = Executors.newSingleThreadExecutor(new ExecutorThreadFactory("stall-filter"));
    private final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor(new ExecutorThreadFactory("stall-watch"));
    private volatile List<Process> processes = List.of();
    private volatile long waitsSince; // time in ns since which an answer is awaited; 0: none is
    private volatile boolean closed, killedForSilence;
    private byte[] text;   // the lines that were sent last
    private int count;     // number of the lines in `text`
    private int answered;  // number of the lines in `text` whose answers were read or given up
    private boolean alone; // the other lines of `text` are sent again, one by one
    private final Counted counted; // lines that the processes have counted; null: they count nothing
    private String reason = ""; // why the last line without an answer had none
    private InputStream out;
    private byte[] buffer = new byte[BUFFER];
    private int at, filled;

    /** commands: the first one reads the lines, the last one answers. counted: for processes that give partials, too; null for others. timeoutMillis:
     *  longest time to wait for an answer. */
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

    /** Replaces the processes after an answer that did not come, and sends the lines that they had counted to the new ones. */
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

    /** Returns the partials of the lines that were answered since the last call. All lines that were sent must have been answered. */
    List<Dump> partials() throws IOException, InterruptedException {
        if (counted == null || counted.bytes() == 0) return List.of();
        List<Dump> partials = ask(ASK);
        if (partials == null) throw new IOException("the filters gave no partials, twice");
        for (Dump partial : partials) if (partial.isRefusal()) throw new IOException(partial.get(Dump.Field.TITLE));
        counted.clear();
        return partials;
    }

    /** Sends whole lines, and does not wait until the filters read them. All lines that were sent before must have been answered. */
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
                // The processes have ended; read() finds that out.
            }
        });
    }

    /** Adds the dumps of the answer to the next line to `dumps`. Returns why the line, or a part of it, was refused; "": nothing was. */
    String answer(List<Dump> dumps) throws IOException, InterruptedException {
        List<Dump> answer = answer();
        if (answer == null) return reason;
        StringJoiner refused = new StringJoiner("; ");
        for (Dump dump : answer)
            if (dump.isRefusal()) refused.add(dump.get(Dump.Field.TITLE));
            else dumps.add(dump);
        return refused.toString();
    }

    /** Returns the answer to the next line; null: it did not come twice, and `reason` says why. If filters die or are silent, the lines without an
     *  answer are sent again, one by one. */
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

    /** Sends a line up to two times. Returns the answer; null: none came. */
    private List<Dump> ask(byte[] line) throws IOException, InterruptedException {
        List<Dump> answer = null;
        for (int attempt = 0; attempt < 2 && answer == null; attempt++) {
            write(line);
            answer = read();
            if (answer == null) restart();
        }
        return answer;
    }

    /** Reads the next answer: a line of heads, each followed by as many bytes as it says. null: the processes ended before the answer did. */
    private List<Dump> read() throws IOException {
        List<Dump> dumps = new ArrayList<>(1);
        while (has(1) && buffer[at] != '\n') {
            int text = 0, length = 0; // where the JSON and its length begin, counted from `at`
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

    /** Waits until the buffer has so many bytes from `at` on. False: the processes ended before. */
    private boolean has(int bytes) {
        while (filled - at < bytes)
            if (!fill()) return false;
        return true;
    }

    /** Returns the place of the next tab from `from` on, both counted from `at`; -1: the processes ended before the tab. */
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
            return false; // kill() has closed the pipe
        } finally {
            waitsSince = 0;
        }
        return filled > left;
    }

    /** Ends the processes; another thread that awaits an answer gets null. */
    @Override public void close() throws IOException {
        closed = true;
        kill();
        writer.shutdownNow();
        watchdog.shutdownNow();
        if (counted != null) counted.close();
    }
}
