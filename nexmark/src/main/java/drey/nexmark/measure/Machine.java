package drey.nexmark.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The machine that figures come from, in one line. */
public final class Machine {

    private Machine() {}

    public static String line() {
        return "%s, %d cores, %s of memory, %s %s, %s %s"
                .formatted(
                        find("/proc/cpuinfo", "model name\\s*: (.*)", "unknown CPU"),
                        Runtime.getRuntime().availableProcessors(),
                        memory(),
                        System.getProperty("os.name"),
                        System.getProperty("os.version")
                                .replaceAll("-.*", ""), // without its builder
                        System.getProperty("java.vm.name"),
                        System.getProperty("java.version"));
    }

    private static String memory() {
        long kib = Long.parseLong(find("/proc/meminfo", "MemTotal:\\s*(\\d+)", "0"));
        return "%.0f GB".formatted(kib / 1e6 * 1.024);
    }

    private static String find(String file, String pattern, String otherwise) {
        try {
            Matcher found = Pattern.compile(pattern).matcher(Files.readString(Path.of(file)));
            return found.find() ? found.group(1).strip() : otherwise;
        } catch (IOException e) {
            return otherwise;
        }
    }
}
