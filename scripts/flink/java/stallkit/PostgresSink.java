package stallkit;

import java.io.IOException;
import java.sql.*;
import java.util.*;
import org.apache.flink.api.connector.sink2.*;

/** Writes rows into a table of PostgreSQL. Each row is an absolute total, so that writing it twice changes nothing. Rows are written before a
 *  checkpoint is complete; after a failure the job writes those since the last checkpoint again. url: a JDBC URL; the password, if there is one, is
 *  in it or in PostgreSQL's password file. */
record PostgresSink(String url, String table) implements Sink<Row> {
    private static final int MOST_HELD = 5000;
    // Writers that create the table at the same time may collide in PostgreSQL's catalog, so they take a lock.
    private static final String CREATE = """
        SELECT pg_advisory_xact_lock(7361746);
        CREATE TABLE IF NOT EXISTS %s (
            bucket text, version text, os text, hour text, title text NOT NULL, cause text NOT NULL,
            dumps bigint NOT NULL, stalled_ms bigint NOT NULL, longest_ms bigint NOT NULL,
            PRIMARY KEY (bucket, version, os, hour))""";
    private static final String UPSERT = """
        INSERT INTO %s VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (bucket, version, os, hour) DO UPDATE SET title = excluded.title, cause = excluded.cause,
            dumps = excluded.dumps, stalled_ms = excluded.stalled_ms, longest_ms = excluded.longest_ms""";

    @Override public SinkWriter<Row> createWriter(WriterInitContext context) throws IOException {
        try {
            Connection connection = DriverManager.getConnection(url);
            connection.setAutoCommit(false);
            try (Statement create = connection.createStatement()) {
                create.execute(CREATE.formatted(table));
            }
            connection.commit();
            return new Writer(connection, UPSERT.formatted(table), new LinkedHashMap<>());
        } catch (SQLException e) {
            throw new IOException("PostgreSQL: " + e.getMessage(), e);
        }
    }

    /** rows: the rows that are not written yet, by their keys. */
    private record Writer(Connection connection, String statement, Map<String, Row> rows) implements SinkWriter<Row> {
        @Override public void write(Row row, Context context) throws IOException {
            rows.put(row.key(), row);
            if (rows.size() >= MOST_HELD) flush(false);
        }

        @Override public void flush(boolean end) throws IOException {
            if (rows.isEmpty()) return;
            try (PreparedStatement upsert = connection.prepareStatement(statement)) {
                for (Row row : rows.values()) {
                    for (int i = 0; i < row.getArity(); i++)
                        upsert.setObject(i + 1, row.getField(i) instanceof String text ? text.replace('\0', '\ufffd') : row.getField(i));
                    upsert.addBatch();
                }
                upsert.executeBatch();
                connection.commit();
            } catch (SQLException e) {
                throw new IOException("PostgreSQL: " + e.getMessage(), e);
            }
            rows.clear();
        }

        @Override public void close() throws SQLException { connection.close(); }
    }
}
