package drey.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;

/**
 * Which of Flink's test classes to run.
 *
 * <p>A pattern is the end of a class name with dots or slashes ({@code DeduplicateITCase}, {@code sql/RankITCase},
 * {@code deduplicate/*Test}), a star for any part of one name segment, optionally {@code #method}; or {@code @name} for a
 * list in {@code selections.txt}. Batch tests match only by a pattern that says {@code batch}: Drey is about streams.
 */
final class Selection {
    private final Set<String> classes = new TreeSet<>();
    private final Path lists;

    Selection(List<String> classPath, Path lists) throws IOException {
        this.lists = lists;
        for (String entry : classPath) {
            if (entry.matches(".*/flink-table-(planner_2\\.12|runtime)-[^/]*-tests\\.jar")) {
                try (JarFile jar = new JarFile(entry)) {
                    for (Enumeration<JarEntry> e = jar.entries(); e.hasMoreElements(); ) {
                        String name = e.nextElement().getName();
                        if (name.endsWith(".class") && !name.contains("$")) {
                            classes.add(name.substring(0, name.length() - ".class".length()));
                        }
                    }
                }
            }
        }
    }

    /** Class names, with {@code #method} where one was asked for, in the order of the patterns and without repeats. */
    List<String> resolve(List<String> patterns) throws IOException {
        Set<String> selected = new LinkedHashSet<>();
        for (String pattern : patterns) {
            if (pattern.startsWith("@")) {
                // A list serves several Flink lines: a class that only some of them have isn't an
                // error.
                addList(pattern.substring(1), selected);
            } else {
                Set<String> matches = matches(pattern);
                if (matches.isEmpty()) {
                    throw new IllegalArgumentException("no test class of Flink matches " + pattern);
                }
                selected.addAll(matches);
            }
        }
        return new ArrayList<>(selected);
    }

    private void addList(String name, Set<String> selected) throws IOException {
        for (String pattern : list(name)) {
            if (pattern.startsWith("@")) {
                addList(pattern.substring(1), selected);
                continue;
            }
            Set<String> matches = matches(pattern);
            if (matches.isEmpty()) {
                System.out.println("flink-suite: this Flink line has no " + pattern);
            }
            selected.addAll(matches);
        }
    }

    private Set<String> matches(String pattern) {
        int hash = pattern.indexOf('#');
        String method = hash < 0 ? "" : pattern.substring(hash);
        String path = (hash < 0 ? pattern : pattern.substring(0, hash)).replace('.', '/');
        StringBuilder regex = new StringBuilder("(.*/)?");
        for (String part : path.split("(?=\\*)|(?<=\\*)")) {
            regex.append(part.equals("*") ? "[^/]*" : Pattern.quote(part));
        }
        Pattern wanted = Pattern.compile(regex.toString());
        Set<String> matches = new LinkedHashSet<>();
        for (String name : classes) {
            boolean batch = name.contains("/batch/") && !path.contains("batch");
            // ArchUnit tests look at Flink's sources and say nothing about a query.
            if (!batch && !name.endsWith("ArchitectureTest") && wanted.matcher(name).matches()) {
                matches.add(name.replace('/', '.') + method);
            }
        }
        return matches;
    }

    private List<String> list(String name) throws IOException {
        List<String> patterns = new ArrayList<>();
        boolean in = false;
        boolean found = false;
        for (String line : Files.readAllLines(lists)) {
            String text = line.replaceFirst("\\s+#.*|^#.*", "").strip();
            if (text.startsWith("[")) {
                in = text.equals("[" + name + "]");
                found |= in;
            } else if (in && !text.isEmpty()) {
                patterns.add(text);
            }
        }
        if (!found) {
            throw new IllegalArgumentException("no list [" + name + "] in " + lists);
        }
        return patterns;
    }
}
