package stallkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.flink.metrics.*;
import org.apache.flink.util.concurrent.ExecutorThreadFactory;

/** Runs filters in long-lived processes, which pipes join. They answer each line with one line, in order. One thread uses the object; a second
 *  thread, of the object itself, writes to the filters, and a third one kills the processes when an answer takes too long. */
final class FilterChild implements AutoCloseable {
    private static final int BUFFER = 1 << 16;
    private static final long MOST_COUNTED = 512 << 20; // bytes of counted lines past which hasCountedMuch is true
    private static final byte[] ASK = {'[', ']', '\n'}; // asks for the partials, as does any line without a dump

    /** Takes the dumps of the answer to the line with this index, and why the line, or a part of it, was refused; "": nothing was. */
    interface Taker { void take(int index, List<Dump> dumps, String reason) throws Exception; }

    private interface Text { void writeTo(OutputStream in) throws IOException; }

    private final List<List<String>> commands;
    private final Path scratch;
    private final long timeoutMillis;
    private final Counter restarts, silent;
    private final ExecutorService writer = Executors.newSingleThreadExecutor(new ExecutorThreadFactory("stall-filter"));
    private final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor(new ExecutorThreadFactory("stall-watch"));
    private volatile List<Process> processes = List.of();
    private volatile long waitsSince; // time in ns since which an answer is awaited; 0: none is
    private volatile boolean closed, killedForSilence;
    private RandomAccessFile counted; // lines that are counted, but not yet given as partials, in a file without a name; null: not needed yet
    private long countedLines;  // number of the lines in it
    private String reason = ""; // why the last line without an answer had none
    private InputStream out;
    private byte[] buffer = new byte[BUFFER];
    private int at, filled;

    /** commands: the first one reads the lines, the last one answers. scratch: folder for the lines that the processes have counted; null: they count
     *  nothing. timeoutMillis: longest time to wait for an answer. */
    FilterChild(List<List<String>> commands, Path scratch, long timeoutMillis, MetricGroup metrics) {
        this.commands = commands;
        this.scratch = scratch;
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

    private void kill() { processes.forEach(Process::destroyForcibly); }

    private void start() throws IOException {
        if (closed) throw new IOException("the filters were stopped");
        processes = ProcessBuilder.startPipeline(
            commands.stream().map(c -> new ProcessBuilder(c).redirectError(ProcessBuilder.Redirect.INHERIT)).toList());
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
        if (countedLines == 0) return;
        counted.seek(0);
        write(in -> new FileInputStream(counted.getFD()).transferTo(in));
        for (long left = countedLines; left > 0; left--)
            if (read() == null) throw new IOException("the filters died of lines that they had answered");
    }

    private void keep(byte[] text, int length, int lines) throws IOException {
        if (scratch == null || lines == 0) return;
        if (counted == null) {
            Path path = Files.createTempFile(Files.createDirectories(scratch), "stallkit", ".counted");
            counted = new RandomAccessFile(path.toFile(), "rw");
            Files.delete(path); // the file goes when the process ends, even if it is killed
        }
        counted.write(text, 0, length);
        countedLines += lines;
    }

    /** Should the partials be given before more is counted? */
    boolean hasCountedMuch() throws IOException { return countedLines > 0 && counted.getFilePointer() > MOST_COUNTED; }

    /** Returns the partials of the lines that were answered since the last call. */
    List<Dump> partials() throws IOException, InterruptedException {
        if (countedLines == 0) return List.of();
        List<Dump> partials = ask(ASK);
        if (partials == null) throw new IOException("the filters gave no partials, twice");
        for (Dump partial : partials) if (partial.isRefusal()) throw new IOException(partial.get(Dump.Field.TITLE));
        counted.setLength(0);
        countedLines = 0;
        return partials;
    }

    /** Sends the lines of a block, and passes on the answer to each. If filters die or are silent, the lines without an answer are sent again, one by
     *  one. */
    void answer(Block block, Taker taker) throws Exception {
        int index = 0;
        write(in -> in.write(block.text()));
        for (List<Dump> answer; index < block.lines() && (answer = read()) != null; index++) give(answer, index, taker);
        keep(block.text(), block.begin(index), index);
        if (index < block.lines()) restart();
        for (; index < block.lines(); index++) {
            byte[] line = block.line(index);
            List<Dump> answer = ask(line);
            if (answer != null) keep(line, line.length, 1);
            give(answer, index, taker);
        }
    }

    private void give(List<Dump> answer, int index, Taker taker) throws Exception {
        List<Dump> dumps = new ArrayList<>(1);
        StringJoiner refused = new StringJoiner("; ");
        if (answer == null) refused.add(reason);
        else for (Dump dump : answer)
            if (dump.isRefusal()) refused.add(dump.get(Dump.Field.TITLE));
            else dumps.add(dump);
        taker.take(index, dumps, refused.toString());
    }

    /** Sends a line up to two times. Returns the answer; null: none came. */
    private List<Dump> ask(byte[] line) throws IOException, InterruptedException {
        List<Dump> answer = null;
        for (int attempt = 0; attempt < 2 && answer == null; attempt++) {
            write(in -> in.write(line));
            answer = read();
            if (answer == null) restart();
        }
        return answer;
    }

    /** Sends a text, and does not wait until the filters read it. */
    private void write(Text text) throws IOException {
        if (processes.isEmpty()) start();
        OutputStream in = processes.get(0).getOutputStream();
        writer.execute(() -> {
            try {
                text.writeTo(in);
                in.flush();
            } catch (IOException e) {
                // The processes have ended; read() finds that out.
            }
        });
    }

    /** Reads the next answer: a line of heads, each followed by as many bytes as it says. null: the processes ended before the answer did. */
    private List<Dump> read() throws IOException {
        List<Dump> dumps = new ArrayList<>(1);
        while (has(1) && buffer[at] != '\n') {
            int text = 0, length = 0; // where the JSON and its length begin, counted from `at`
            for (int field = 0; field <= Dump.LENGTH; field++) {
                length = text;
                while ((text = Bytes.find(buffer, at + length, filled, '\t') + 1 - at) <= 0)
                    if (!fill()) return null;
            }
            int end = text + Integer.parseInt(new String(buffer, at + length, text - 1 - length, UTF_8));
            if (!has(end + 1)) return null;
            byte[] line = Arrays.copyOfRange(buffer, at + text, at + end + 1);
            line[end - text] = '\n';
            dumps.add(new Dump(Arrays.copyOfRange(buffer, at, at + text), line));
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
