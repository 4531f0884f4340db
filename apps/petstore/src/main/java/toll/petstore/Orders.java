package toll.petstore;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/** Orders: how one is placed, read and counted. */
final class Orders {
    /** Below this stock of an item, more comes in. */
    private static final int LOW = 100;

    private final Database database;

    /** A line of an order; a price of all of it in cents. */
    record Line(String item, int quantity, int cents) {}

    /** An order. */
    record Order(int number, String account, int cents, List<Line> lines) {}

    Orders(Database database) {
        this.database = database;
    }

    /**
     * Places an order in one transaction, all of it or nothing: stock, order, lines, payment. An item
     * that runs low gets {@link Database#STOCK} more in the same step, so no order finds a shop sold
     * out, however long a load lasts. Items are taken in the order of their numbers, so that two
     * orders never wait for each other.
     *
     * @param cart quantities by item
     * @return the order's number
     */
    int place(String account, SortedMap<Integer, Integer> cart, String card, String expires)
            throws SQLException {
        Connection connection = database.connection();
        connection.setAutoCommit(false);
        try {
            int cents = takeFromStock(connection, cart);
            int number = insertOrder(connection, account, cents);
            insertLines(connection, number, cart);
            insertPayment(connection, number, card, expires, cents);
            connection.commit();
            return number;
        } catch (SQLException failed) {
            connection.rollback();
            throw failed;
        } finally {
            connection.setAutoCommit(true);
        }
    }

    /** The order of this number; null where there is none. */
    Order find(int number) throws SQLException {
        Connection connection = database.connection();
        String sql = "select account, cents from orders where id = ?";
        try (PreparedStatement order = connection.prepareStatement(sql)) {
            order.setInt(1, number);
            try (ResultSet row = order.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                return new Order(
                        number, row.getString(1), row.getInt(2), lines(connection, number));
            }
        }
    }

    /** How many orders the database holds. */
    int count() throws SQLException {
        try (Statement statement = database.connection().createStatement();
                ResultSet row = statement.executeQuery("select count(*) from orders")) {
            row.next();
            return row.getInt(1);
        }
    }

    private static List<Line> lines(Connection connection, int number) throws SQLException {
        String sql =
                "select name, quantity, order_line.cents from order_line join item on item.id ="
                        + " order_line.item where orders = ?";
        List<Line> lines = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setInt(1, number);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    lines.add(new Line(row.getString(1), row.getInt(2), row.getInt(3)));
                }
            }
        }
        return lines;
    }

    /** The price of all in cents. */
    private static int takeFromStock(Connection connection, SortedMap<Integer, Integer> cart)
            throws SQLException {
        String take =
                "update item set stock = stock - ? + case when stock - ? < ? then ? else 0 end"
                        + " where id = ?";
        int cents = 0;
        try (PreparedStatement stock = connection.prepareStatement(take);
                PreparedStatement price =
                        connection.prepareStatement("select cents from item where id = ?")) {
            for (Map.Entry<Integer, Integer> line : cart.entrySet()) {
                stock.setInt(1, line.getValue());
                stock.setInt(2, line.getValue());
                stock.setInt(3, LOW);
                stock.setInt(4, Database.STOCK);
                stock.setInt(5, line.getKey());
                stock.execute();
                price.setInt(1, line.getKey());
                try (ResultSet row = price.executeQuery()) {
                    row.next();
                    cents += line.getValue() * row.getInt(1);
                }
            }
        }
        return cents;
    }

    private static int insertOrder(Connection connection, String account, int cents)
            throws SQLException {
        String sql = "insert into orders (account, placed, cents) values (?, ?, ?)";
        try (PreparedStatement order =
                connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            order.setString(1, account);
            order.setTimestamp(2, Timestamp.from(Instant.now()));
            order.setInt(3, cents);
            order.execute();
            try (ResultSet row = order.getGeneratedKeys()) {
                row.next();
                return row.getInt(1);
            }
        }
    }

    private static void insertLines(
            Connection connection, int number, SortedMap<Integer, Integer> cart)
            throws SQLException {
        String sql =
                "insert into order_line select cast(? as int), id, cast(? as int), cents *"
                        + " cast(? as int) from item where id = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (Map.Entry<Integer, Integer> line : cart.entrySet()) {
                statement.setInt(1, number);
                statement.setInt(2, line.getValue());
                statement.setInt(3, line.getValue());
                statement.setInt(4, line.getKey());
                statement.execute();
            }
        }
    }

    private static void insertPayment(
            Connection connection, int number, String card, String expires, int cents)
            throws SQLException {
        String sql = "insert into payment values (?, ?, ?, ?)";
        try (PreparedStatement payment = connection.prepareStatement(sql)) {
            payment.setInt(1, number);
            payment.setString(2, card);
            payment.setString(3, expires);
            payment.setInt(4, cents);
            payment.execute();
        }
    }
}
