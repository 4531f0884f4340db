package toll.petstore;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The shop's tables in an embedded Derby, filled when it is made, and what the pages ask of them
 * except {@link Orders}. Each thread that asks has a connection of its own, for good: the threads of
 * the server are a fixed number.
 */
final class Database {
    /** How many users there are: user1 with pet1, user2 with pet2 ... */
    static final int USERS = 1000;
    /** The stock of an item when it is new, and what comes in when it runs low. */
    static final int STOCK = 10_000;

    static final List<String> CATEGORIES = List.of("dogs", "cats", "fish", "birds", "reptiles");
    private static final int PRODUCTS_OF_A_CATEGORY = 10;
    private static final int ITEMS_OF_A_PRODUCT = 10;

    private static final List<String> TABLES =
            List.of(
                    """
                    create table account (
                        name varchar(20) primary key, password varchar(20) not null,
                        address varchar(80) not null)""",
                    """
                    create table product (
                        id int primary key, category varchar(20) not null,
                        name varchar(40) not null)""",
                    "create index product_of_category on product (category)",
                    """
                    create table item (
                        id int primary key, product int not null references product,
                        name varchar(40) not null, cents int not null, stock int not null)""",
                    """
                    create table orders (
                        id int generated always as identity primary key,
                        account varchar(20) not null references account,
                        placed timestamp not null, cents int not null)""",
                    """
                    create table order_line (
                        orders int not null references orders, item int not null references item,
                        quantity int not null, cents int not null, primary key (orders, item))""",
                    """
                    create table payment (
                        orders int primary key references orders, card varchar(4) not null,
                        expires varchar(7) not null, cents int not null)""");

    private final String url;
    private final ThreadLocal<Connection> connections = ThreadLocal.withInitial(this::connect);

    /** A product of a category. */
    record Product(int id, String name) {}

    /** Something to buy; a price in cents. */
    record Item(int id, int product, String name, int cents, int stock) {}

    private Database(String url) {
        this.url = url;
    }

    /**
     * A new database with all accounts and goods in this folder, which holds none yet. An orderly end
     * of the process removes it.
     */
    static Database create(Path folder) throws IOException, SQLException {
        Files.createDirectories(folder);
        Path files = folder.resolve("derby");
        if (Files.exists(files)) {
            throw new IOException(files + " exists; the shop begins with a new database");
        }
        System.setProperty("derby.stream.error.file", folder.resolve("derby.log").toString());
        keepPlans();
        String url = "jdbc:derby:" + files;
        DriverManager.getConnection(url + ";create=true").close();
        Database database = new Database(url);
        database.fill();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(files)));
        return database;
    }

    /**
     * Statements keep their first plan, which uses the primary keys and indexes. Otherwise Derby makes
     * new plans as the orders grow: each is a new class that Java has to compile again, some scan a
     * whole table for a row, and a thread that runs the old plan meanwhile may fail.
     */
    private static void keepPlans() {
        System.setProperty("derby.language.stalePlanCheckInterval", "" + Integer.MAX_VALUE);
        System.setProperty("derby.storage.indexStats.auto", "false");
    }

    /** This thread's connection. Each statement is a transaction unless the caller says otherwise. */
    Connection connection() {
        return connections.get();
    }

    /** Whether there is an account of this name with this password. */
    boolean isPassword(String name, String password) throws SQLException {
        String sql = "select password from account where name = ?";
        try (PreparedStatement statement = connection().prepareStatement(sql)) {
            statement.setString(1, name);
            try (ResultSet row = statement.executeQuery()) {
                return row.next() && row.getString(1).equals(password);
            }
        }
    }

    /** Where the owner of the account lives. */
    String address(String name) throws SQLException {
        String sql = "select address from account where name = ?";
        try (PreparedStatement statement = connection().prepareStatement(sql)) {
            statement.setString(1, name);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getString(1);
            }
        }
    }

    /** The products of a category, none where there is no such category. */
    List<Product> products(String category) throws SQLException {
        String sql = "select id, name from product where category = ? order by id";
        List<Product> products = new ArrayList<>();
        try (PreparedStatement statement = connection().prepareStatement(sql)) {
            statement.setString(1, category);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    products.add(new Product(row.getInt(1), row.getString(2)));
                }
            }
        }
        return products;
    }

    /** The items of a product, none where there is no such product. */
    List<Item> items(int product) throws SQLException {
        return items("where product = ? order by id", product);
    }

    /** The item of this number; null where there is none. */
    Item item(int id) throws SQLException {
        List<Item> items = items("where id = ?", id);
        return items.isEmpty() ? null : items.get(0);
    }

    private List<Item> items(String which, int number) throws SQLException {
        String sql = "select id, product, name, cents, stock from item " + which;
        List<Item> items = new ArrayList<>();
        try (PreparedStatement statement = connection().prepareStatement(sql)) {
            statement.setInt(1, number);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    items.add(
                            new Item(
                                    row.getInt(1),
                                    row.getInt(2),
                                    row.getString(3),
                                    row.getInt(4),
                                    row.getInt(5)));
                }
            }
        }
        return items;
    }

    private static void remove(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException failed) {
            System.err.println("petstore: " + failed.getMessage());
        }
    }

    private Connection connect() {
        try {
            return DriverManager.getConnection(url);
        } catch (SQLException failed) {
            throw new IllegalStateException("no connection to the database", failed);
        }
    }

    private void fill() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement()) {
                for (String table : TABLES) {
                    statement.execute(table);
                }
            }
            connection.setAutoCommit(false);
            fillAccounts(connection);
            fillGoods(connection);
            connection.commit();
        }
    }

    private static void fillAccounts(Connection connection) throws SQLException {
        String sql = "insert into account values (?, ?, ?)";
        try (PreparedStatement account = connection.prepareStatement(sql)) {
            for (int user = 1; user <= USERS; user++) {
                account.setString(1, "user" + user);
                account.setString(2, "pet" + user);
                account.setString(3, user + " Kennel Road, Petersham");
                account.execute();
            }
        }
    }

    private static void fillGoods(Connection connection) throws SQLException {
        try (PreparedStatement product =
                        connection.prepareStatement("insert into product values (?, ?, ?)");
                PreparedStatement item =
                        connection.prepareStatement("insert into item values (?, ?, ?, ?, ?)")) {
            int products = CATEGORIES.size() * PRODUCTS_OF_A_CATEGORY;
            for (int id = 1; id <= products; id++) {
                String category = CATEGORIES.get((id - 1) / PRODUCTS_OF_A_CATEGORY);
                product.setInt(1, id);
                product.setString(2, category);
                product.setString(3, "Breed " + id + " of " + category);
                product.execute();
                for (int n = 1; n <= ITEMS_OF_A_PRODUCT; n++) {
                    item.setInt(1, (id - 1) * ITEMS_OF_A_PRODUCT + n);
                    item.setInt(2, id);
                    item.setString(3, "Breed " + id + ", " + n + " months old");
                    item.setInt(4, 1000 + 137 * id + 11 * n);
                    item.setInt(5, STOCK);
                    item.execute();
                }
            }
        }
    }
}
