package drey.jni;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * Loads libdrey from the jar, once per process.
 *
 * <p>A Go runtime can't be unloaded, and a process bears only one. The JVM gives a native library to one class loader; when
 * another one asks (a session cluster with Drey in user jars), it finds in the system properties what the first has left there and
 * has its own natives bound by the first's. What is left there is of JDK types only, as the two loaders share no others. The first
 * loader can never be collected, which a library that can't be unloaded would not profit from.
 *
 * <p>The library file exists only while it is being loaded.
 */
public final class NativeLibrary {

    /** The version of {@code cgo/abi.h} this class was written for. */
    public static final int ABI_VERSION = 4;

    /** System property: the directory to extract the library to, instead of {@code java.io.tmpdir}. */
    public static final String DIRECTORY_PROPERTY = "drey.native.directory";

    private static final String REGISTRY = "drey.native.library";

    /** String literals are one object in the whole JVM, whichever class loader's class has them. */
    private static final Object JVM_LOCK = "drey.native.library.lock";

    private static final String BUILD_MARK = "@(#)libdrey ";

    private static volatile boolean loaded;
    private static String unavailable;

    private NativeLibrary() {}

    /** Loads the library unless this was tried before; returns null, or why it can't be used. */
    public static String unavailableReason() {
        if (loaded) {
            return null;
        }
        synchronized (JVM_LOCK) {
            if (!loaded && unavailable == null) {
                try {
                    loadOnce();
                    loaded = true;
                } catch (Unavailable e) {
                    unavailable = e.getMessage();
                } catch (IOException | RuntimeException | LinkageError e) {
                    unavailable = "loading the native library failed: " + e;
                }
            }
            return unavailable;
        }
    }

    /**
     * Loads the library unless it is loaded.
     *
     * @throws NativeException with status UNSUPPORTED and the reason when it can't be
     */
    public static void load() {
        String reason = unavailableReason();
        if (reason != null) {
            throw new NativeException(NativeException.UNSUPPORTED, reason);
        }
    }

    private static void loadOnce() throws IOException {
        String platform = Platform.supported();
        String resource = "/drey/native/" + platform + "/libdrey.so";
        byte[] library;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new Unavailable(
                        "the jar has no "
                                + resource
                                + ": it was built without the native library (make lib)");
            }
            library = in.readAllBytes();
        }
        String build = buildOf(library) + " sha256=" + digest(library);
        Object registered = System.getProperties().get(REGISTRY);
        if (registered != null) {
            bindTo((Map<?, ?>) registered, build);
            return;
        }
        Platform.checkProcess();
        extractAndLoad(
                library,
                System.getProperty(DIRECTORY_PROPERTY, System.getProperty("java.io.tmpdir")));
        int version = NativeOperator.bind(null);
        ToIntFunction<Class<?>> bind = NativeOperator::bind;
        System.getProperties()
                .put(
                        REGISTRY,
                        Map.of("abi", version, "build", build, "from", describe(), "bind", bind));
        checkVersion(version, "the library in this jar");
    }

    @SuppressWarnings("unchecked")
    private static void bindTo(Map<?, ?> registered, String build) {
        String from = "the library already in this process, loaded by " + registered.get("from");
        if (!registered.get("build").equals(build)) {
            throw new Unavailable(
                    "this copy of Drey has the library build "
                            + build
                            + ", but "
                            + from
                            + ", is build "
                            + registered.get("build")
                            + "; a process can have only one: put one version into Flink's lib"
                            + " directory and none into job jars");
        }
        checkVersion((Integer) registered.get("abi"), from);
        ((ToIntFunction<Class<?>>) registered.get("bind")).applyAsInt(NativeOperator.class);
    }

    private static void checkVersion(int version, String whose) {
        if (version != ABI_VERSION) {
            throw new Unavailable(
                    whose + " has ABI version " + version + ", these classes need " + ABI_VERSION);
        }
    }

    private static String describe() {
        return NativeLibrary.class.getClassLoader()
                + " from "
                + NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation();
    }

    /** Writes the library where only this user can reach it, loads it, and takes it away again. */
    private static void extractAndLoad(byte[] library, String parent) throws IOException {
        Set<PosixFilePermission> mine = PosixFilePermissions.fromString("rwx------");
        Path directory;
        try {
            directory =
                    Files.createTempDirectory(
                            Path.of(parent), "drey-", PosixFilePermissions.asFileAttribute(mine));
        } catch (IOException e) {
            throw new Unavailable(
                    "no directory for the native library can be made in "
                            + parent
                            + " ("
                            + e
                            + "): set -D"
                            + DIRECTORY_PROPERTY
                            + "=<a directory this user may write to>");
        }
        Path file = directory.resolve("libdrey.so");
        try {
            // A task that is cancelled while it loads is interrupted: a channel would give up, and
            // the process would have no library from then on. A stream doesn't know of interrupts.
            try (OutputStream out = new FileOutputStream(file.toFile())) {
                out.write(library);
            }
            System.load(file.toAbsolutePath().toString());
        } catch (UnsatisfiedLinkError e) {
            throw new Unavailable(explain(e, parent));
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(directory);
        }
    }

    /** Says in the user's terms why the dynamic linker refused. */
    static String explain(UnsatisfiedLinkError e, String parent) {
        String message = String.valueOf(e.getMessage());
        if (message.contains("failed to map segment")
                || message.contains("Operation not permitted")) {
            return parent
                    + " does not allow programs to run from it (mounted noexec?): set -D"
                    + DIRECTORY_PROPERTY
                    + "=<a directory that does>, for a Flink cluster in env.java.opts.all. The"
                    + " linker says: "
                    + message;
        }
        if (message.contains("GLIBC_")) {
            return "the C library of this system is older than the one the native library was built"
                    + " with. The linker says: "
                    + message;
        }
        return "the native library can't be loaded: " + message;
    }

    /**
     * What a library says of itself, read from its bytes, as it must be known before the library is loaded: between a mark and
     * a semicolon.
     */
    static String buildOf(byte[] library) {
        byte[] mark = BUILD_MARK.getBytes(StandardCharsets.US_ASCII);
        search:
        for (int i = 0; i <= library.length - mark.length; i++) {
            for (int j = 0; j < mark.length; j++) {
                if (library[i + j] != mark[j]) {
                    continue search;
                }
            }
            int start = i + mark.length;
            for (int end = start; end < library.length && end < start + 200; end++) {
                if (library[end] == ';') {
                    return new String(library, start, end - start, StandardCharsets.US_ASCII);
                }
            }
        }
        return "commit=unknown";
    }

    private static String digest(byte[] library) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(library), 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    /** The library can't be used, for a reason the user can act on. */
    static final class Unavailable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Unavailable(String reason) {
            super(reason);
        }
    }
}
