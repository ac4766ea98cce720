package drey.jni;

import drey.jni.NativeLibrary.Unavailable;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** What the native library needs of the machine and the process around it. */
final class Platform {

    private Platform() {}

    /** The directory name of this platform's library. */
    static String supported() {
        return supported(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    static String supported(String os, String cpu) {
        boolean linux = os.toLowerCase(Locale.ROOT).equals("linux");
        if (!linux || !(cpu.equals("amd64") || cpu.equals("x86_64"))) {
            throw new Unavailable(
                    "no native library for " + os + " on " + cpu + ", only for Linux on amd64");
        }
        return "linux-amd64";
    }

    /** Refuses what would kill the process later. */
    static void checkProcess() throws IOException {
        List<String> mapped;
        // Not by a channel, which an interrupt of the thread would close (see NativeLibrary).
        try (BufferedReader lines =
                new BufferedReader(
                        new InputStreamReader(
                                new FileInputStream("/proc/self/maps"), StandardCharsets.UTF_8))) {
            mapped = lines.lines().toList();
        }
        checkProcess(mapped, System.getenv("LD_PRELOAD"));
    }

    static void checkProcess(List<String> mapped, String preload) {
        // libjsig takes over sigaction: the Go runtime's handlers would not reach the kernel, and a
        // nil dereference in Go, which is a panic like any other, would end the JVM.
        if (isMapped(mapped, "libjsig") || (preload != null && preload.contains("libjsig"))) {
            throw new Unavailable(
                    "libjsig is loaded into this JVM (LD_PRELOAD="
                            + preload
                            + "), and a Go runtime beside it would crash it: start the JVM without"
                            + " libjsig");
        }
        if (isMapped(mapped, "ld-musl") || isMapped(mapped, "libc.musl")) {
            throw new Unavailable(
                    "this JVM runs on musl (Alpine), the native library needs glibc: use an image"
                            + " based on Debian or Ubuntu");
        }
        if (isMapped(mapped, "libdrey.so")) {
            throw new Unavailable(
                    "libdrey.so is already in this process, but the system property that says who"
                            + " loaded it is gone (has something called System.setProperties?); a"
                            + " second copy would be a second Go runtime");
        }
    }

    private static boolean isMapped(List<String> mapped, String name) {
        return mapped.stream()
                .anyMatch(line -> line.substring(line.lastIndexOf('/') + 1).startsWith(name));
    }
}
