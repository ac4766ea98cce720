package drey.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import drey.jni.NativeLibrary.Unavailable;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibraryTest {

    private static final String RESOURCE = "drey/native/linux-amd64/libdrey.so";

    @TempDir Path work;

    // --- platforms and processes it can't run in ---------------------------------------------

    @Test
    void otherPlatformsAreNamed() {
        assertThat(Platform.supported("Linux", "amd64")).isEqualTo("linux-amd64");
        assertThatThrownBy(() -> Platform.supported("Mac OS X", "aarch64"))
                .isInstanceOf(Unavailable.class)
                .hasMessage("no native library for Mac OS X on aarch64, only for Linux on amd64");
        assertThatThrownBy(() -> Platform.supported("Linux", "aarch64"))
                .hasMessageContaining("aarch64");
    }

    @Test
    void processesItWouldKillAreRefused() throws Exception {
        String libc = "7f1a-7f1b r-xp 00000000 fe:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6";
        Platform.checkProcess(List.of(libc, "7f1c-7f1d rw-p 00000000 00:00 0"), null);
        assertThatThrownBy(
                        () ->
                                Platform.checkProcess(
                                        List.of(libc, "7f r-xp 0 fe:00 2 /opt/jdk/lib/libjsig.so"),
                                        null))
                .hasMessageContaining("libjsig");
        assertThatThrownBy(() -> Platform.checkProcess(List.of(libc), "/opt/jdk/lib/libjsig.so"))
                .hasMessageContaining("LD_PRELOAD=/opt/jdk/lib/libjsig.so");
        assertThatThrownBy(
                        () ->
                                Platform.checkProcess(
                                        List.of("7f r-xp 0 fe:00 2 /lib/ld-musl-x86_64.so.1"),
                                        null))
                .hasMessageContaining("musl");
        assertThatThrownBy(
                        () ->
                                Platform.checkProcess(
                                        List.of(
                                                libc,
                                                "7f r-xp 0 fe:00 2 /tmp/drey-1/libdrey.so"
                                                        + " (deleted)"),
                                        null))
                .hasMessageContaining("already in this process");
        // A path that only looks alike is none of our business.
        Platform.checkProcess(List.of(libc, "7f r--s 0 fe:00 2 /home/libjsig.so.d/notes.jar"), "");
    }

    @Test
    void libjsigIsRefused() throws Exception {
        Path libjsig = Path.of(System.getProperty("java.home"), "lib", "libjsig.so");
        assumeThat(libjsig).exists();
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .environment(Map.of("LD_PRELOAD", libjsig.toString()))
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason"))
                .contains("libjsig")
                .contains(libjsig.toString())
                .contains("without libjsig");
    }

    // --- the file ----------------------------------------------------------------------------

    @Test
    void leavesNoFileBehind() throws Exception {
        Path tmp = Files.createDirectory(work.resolve("tmp"));
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options("-Djava.io.tmpdir=" + tmp)
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason")).isEqualTo("null");
        assertThat(result.line("abi")).isEqualTo("" + NativeLibrary.ABI_VERSION);
        assertThat(tmp).isEmptyDirectory();
    }

    /** A task may be cancelled while it is the first to load. The process has one chance, so it must not be lost. */
    @Test
    void anInterruptDoesNotPreventLoading() throws Exception {
        ForkedJvm.Result result =
                new ForkedJvm(work).run(60, LoadMain.class, "interrupted").expectExit(0);
        assertThat(result.line("reason")).isEqualTo("null");
        assertThat(result.line("interrupted")).isEqualTo("true");
    }

    @Test
    void theDirectoryCanBeChosen() throws Exception {
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options(
                                "-Djava.io.tmpdir=/no/such/place",
                                "-Ddrey.native.directory=" + work)
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason")).isEqualTo("null");
    }

    @Test
    void aDirectoryThatIsNotThereIsNamed() throws Exception {
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options("-Ddrey.native.directory=/no/such/place")
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason"))
                .contains("/no/such/place")
                .contains("-Ddrey.native.directory=<a directory this user may write to>");
    }

    @Test
    void aDamagedLibraryLeavesNoFileBehind() throws Exception {
        Path tmp = Files.createDirectory(work.resolve("tmp"));
        Path classes = Files.createDirectory(work.resolve("classes"));
        Files.createDirectories(classes.resolve(RESOURCE).getParent());
        Files.writeString(classes.resolve(RESOURCE), "not a library");
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options("-Djava.io.tmpdir=" + tmp, "-Xbootclasspath/a:" + classes)
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason")).contains("can't be loaded").contains("file too short");
        assertThat(tmp).isEmptyDirectory();
    }

    @Test
    void aDirectoryMountedNoexecIsExplained() {
        UnsatisfiedLinkError e =
                new UnsatisfiedLinkError(
                        "/tmp/drey-1/libdrey.so: /tmp/drey-1/libdrey.so: failed to map segment from"
                                + " shared object: Operation not permitted");
        assertThat(NativeLibrary.explain(e, "/tmp"))
                .startsWith("/tmp does not allow programs to run from it")
                .contains("-Ddrey.native.directory=");
        UnsatisfiedLinkError old =
                new UnsatisfiedLinkError("libc.so.6: version `GLIBC_2.34' not found");
        assertThat(NativeLibrary.explain(old, "/tmp")).contains("C library").contains("GLIBC_2.34");
    }

    /** Where the machine has a directory without exec rights, the real thing. */
    @Test
    void noexecForReal() throws Exception {
        List<String> mounts = Files.readAllLines(Path.of("/proc/mounts"));
        List<Path> noexec =
                mounts.stream()
                        .map(line -> line.split(" "))
                        .filter(
                                m ->
                                        Arrays.asList(m[3].split(","))
                                                .containsAll(List.of("noexec", "rw")))
                        .map(m -> Path.of(m[1]))
                        .filter(
                                p ->
                                        Files.isDirectory(p)
                                                && Files.isWritable(p)
                                                && !p.startsWith("/proc")
                                                && !p.startsWith("/sys"))
                        .toList();
        assumeThat(noexec).isNotEmpty();
        Path place = noexec.get(0);
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options("-Ddrey.native.directory=" + place)
                        .run(60, LoadMain.class)
                        .expectExit(0);
        assertThat(result.line("reason"))
                .startsWith(place + " does not allow programs to run from it");
        try (Stream<Path> left = Files.list(place)) {
            assertThat(left.filter(p -> p.getFileName().toString().startsWith("drey-"))).isEmpty();
        }
    }

    // --- class loaders -----------------------------------------------------------------------

    /** A loader that shares nothing but the JDK with this test, as a user jar's loader would. */
    private static URLClassLoader strangerTo(Path... first) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (Path path : first) {
            urls.add(path.toUri().toURL());
        }
        urls.add(NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation());
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    private static String reasonIn(ClassLoader loader) throws Exception {
        return (String)
                loader.loadClass("drey.jni.NativeLibrary")
                        .getMethod("unavailableReason")
                        .invoke(null);
    }

    @Test
    void aSecondClassLoaderSharesTheLibrary() throws Exception {
        NativeLibrary.load();
        try (URLClassLoader stranger = strangerTo()) {
            Class<?> natives = stranger.loadClass("drey.jni.NativeOperator");
            assertThat(natives).isNotSameAs(NativeOperator.class);
            assertThat(reasonIn(stranger)).isNull();
            assertThat(natives.getMethod("bind", Class.class).invoke(null, (Object) null))
                    .isEqualTo(NativeLibrary.ABI_VERSION);
            // Its failures are its own exceptions, which its code can catch.
            assertThatThrownBy(
                            () ->
                                    natives.getMethod("panicForTest", long.class, int.class)
                                            .invoke(null, 0L, 0))
                    .isInstanceOf(InvocationTargetException.class)
                    .cause()
                    .isInstanceOf(
                            stranger.loadClass("drey.jni.NativeException")
                                    .asSubclass(Throwable.class))
                    .isNotInstanceOf(NativeException.class);
        }
        // And this one's are still this one's.
        assertThatThrownBy(() -> NativeOperator.panicForTest(0, 0))
                .isInstanceOf(NativeException.class);
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            assertThat(
                            maps.filter(l -> l.contains("libdrey.so"))
                                    .map(l -> l.split(" +")[4])
                                    .distinct())
                    .hasSize(1);
        }
    }

    @Test
    void manyLoadersAtOnce() throws Exception {
        ForkedJvm.Result result = new ForkedJvm(work).run(120, ManyLoadersMain.class).expectExit(0);
        assertThat(result.line("loaders")).isEqualTo("16 without a reason");
        assertThat(result.line("libraries")).isEqualTo("1");
    }

    /** Sixteen class loaders ask for the library at the same time, in a process where nobody has it yet. */
    static final class ManyLoadersMain {
        public static void main(String[] args) throws Exception {
            ExecutorService threads = Executors.newFixedThreadPool(16);
            List<Future<String>> reasons = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                URLClassLoader stranger = strangerTo();
                reasons.add(threads.submit(() -> reasonIn(stranger)));
            }
            int none = 0;
            for (Future<String> reason : reasons) {
                if (reason.get() == null) {
                    none++;
                } else {
                    System.out.println(reason.get());
                }
            }
            threads.shutdown();
            System.out.println("loaders: " + none + " without a reason");
            try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
                System.out.println(
                        "libraries: "
                                + maps.filter(l -> l.contains("libdrey.so"))
                                        .map(l -> l.split(" +")[4])
                                        .distinct()
                                        .count());
            }
        }
    }

    @Test
    void anotherBuildIsRefusedByBothNames() throws Exception {
        NativeLibrary.load();
        byte[] library;
        try (InputStream in = NativeLibrary.class.getResourceAsStream("/" + RESOURCE)) {
            library = in.readAllBytes();
        }
        String ours = NativeLibrary.buildOf(library);
        Path classes = Files.createDirectory(work.resolve("classes"));
        Files.createDirectories(classes.resolve(RESOURCE).getParent());
        Files.write(
                classes.resolve(RESOURCE),
                "..@(#)libdrey commit=0123456789ab;..".getBytes(StandardCharsets.US_ASCII));
        try (URLClassLoader stranger = strangerTo(classes)) {
            assertThat(reasonIn(stranger))
                    .contains("commit=0123456789ab sha256=")
                    .contains(ours + " sha256=")
                    .contains("put one version into Flink's lib directory");
        }
    }

    @Test
    void aLibraryNamesItsBuild() {
        assertThat(
                        NativeLibrary.buildOf(
                                "xx@(#)libdrey commit=abc;yy".getBytes(StandardCharsets.US_ASCII)))
                .isEqualTo("commit=abc");
        assertThat(
                        NativeLibrary.buildOf(
                                "xx@(#)libdrey commit=abc".getBytes(StandardCharsets.US_ASCII)))
                .isEqualTo("commit=unknown");
    }
}
