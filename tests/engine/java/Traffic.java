// What the JDBC driver does at length: server-side statements, batches, fetch sizes, COPY, errors.
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Arrays;
import org.postgresql.PGConnection;

public class Traffic {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0], args[1], args[2])) {
            doubled(connection);
            batches(connection);
            piecemeal(connection);
            errors(connection);
            copies(connection);
            several(connection);
            notifications(connection);
        }
    }

    /** The same statement often enough that the driver has the server prepare it by name. */
    static void doubled(Connection connection) throws SQLException {
        try (PreparedStatement twice = connection.prepareStatement("SELECT ?::int * 2, ?")) {
            for (int n = 0; n < 50; n++) {
                twice.setInt(1, n);
                twice.setString(2, "x".repeat(n * 2_000));
                try (ResultSet found = twice.executeQuery()) {
                    found.next();
                    say(found.getInt(1), found.getString(2).length());
                }
            }
        }
    }

    static void batches(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TEMPORARY TABLE t (id serial PRIMARY KEY, what text UNIQUE)");
        }
        connection.setAutoCommit(false);
        String insert = "INSERT INTO t (what) VALUES (?)";
        int keys = Statement.RETURN_GENERATED_KEYS;
        try (PreparedStatement inserting = connection.prepareStatement(insert, keys)) {
            for (int n = 0; n < 1_000; n++) {
                inserting.setString(1, "number " + n);
                inserting.addBatch();
            }
            say(Arrays.stream(inserting.executeBatch()).sum());
            try (ResultSet made = inserting.getGeneratedKeys()) {
                made.next();
                say(made.getInt(1));
            }
        }
        connection.commit();
        try (PreparedStatement inserting = connection.prepareStatement(insert)) {
            for (String what : new String[] {"new", "number 7", "never reached"}) {
                inserting.setString(1, what);
                inserting.addBatch();
            }
            inserting.executeBatch();
        } catch (SQLException problem) {
            say(problem.getSQLState());
        }
        connection.rollback();
    }

    /** Rows that are fetched some at a time, by a portal that is suspended in between. */
    static void piecemeal(Connection connection) throws SQLException {
        String all = "SELECT id, what FROM t ORDER BY id";
        try (PreparedStatement reading = connection.prepareStatement(all)) {
            reading.setFetchSize(7);
            int rows = 0;
            try (ResultSet found = reading.executeQuery()) {
                while (found.next()) {
                    rows++;
                }
            }
            reading.setFetchSize(0);
            reading.setMaxRows(3);
            try (ResultSet found = reading.executeQuery()) {
                while (found.next()) {
                    say(found.getString(2));
                }
            }
            say(rows);
        }
        connection.commit();
    }

    static void errors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE t SET what = 'changed' WHERE id = 1");
            Savepoint before = connection.setSavepoint();
            failing(statement, "SELECT 1 / 0");
            failing(statement, "SELECT 1");
            connection.rollback(before);
            try (ResultSet found = statement.executeQuery("SELECT what FROM t WHERE id = 1")) {
                found.next();
                say(found.getString(1));
            }
            connection.rollback();
            connection.setAutoCommit(true);
            failing(statement, "SELECT * FROM nowhere");
            say(statement.execute(""));
        }
    }

    static void failing(Statement statement, String what) {
        try {
            say(statement.execute(what));
        } catch (SQLException problem) {
            say(problem.getSQLState());
        }
    }

    static void copies(Connection connection) throws Exception {
        var copy = connection.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder rows = new StringBuilder();
        for (int n = 0; n < 5_000; n++) {
            rows.append(n + 10_000).append("\trow ").append("y".repeat(n % 100)).append(n).append('\n');
        }
        say(copy.copyIn("COPY t FROM STDIN", new StringReader(rows.toString())));
        StringWriter out = new StringWriter();
        say(copy.copyOut("COPY (SELECT * FROM t ORDER BY id) TO STDOUT", out));
        say(out.toString().hashCode());
    }

    static void several(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            boolean rows = statement.execute("SELECT 1; UPDATE t SET what = what; SELECT 'two'");
            do {
                if (rows) {
                    try (ResultSet found = statement.getResultSet()) {
                        found.next();
                        say(found.getString(1));
                    }
                } else {
                    say(statement.getUpdateCount());
                }
                rows = statement.getMoreResults();
            } while (rows || statement.getUpdateCount() != -1);
        }
    }

    static void notifications(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("LISTEN paid");
            statement.execute("NOTIFY paid, 'now'");
            for (var told : connection.unwrap(PGConnection.class).getNotifications(20_000)) {
                say(told.getName(), told.getParameter());
            }
        }
    }

    static void say(Object... what) {
        System.out.println(Arrays.toString(what));
    }
}
