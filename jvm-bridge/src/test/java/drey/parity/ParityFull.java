package drey.parity;

import drey.jni.NativeLibrary;

import java.util.List;
import java.util.Locale;

/**
 * The parity of an operator over many rows, on demand: all its subjects in turn, each with its share. Ends with the first
 * difference, or with a line that says how much was compared.
 *
 * <p>Arguments: operator, rows, and a seed (a new one each time if there is none).
 */
public final class ParityFull {

    private ParityFull() {}

    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        String operator = args[0];
        long rows = Long.parseLong(args[1]);
        long seed = args.length > 2 ? Long.parseLong(args[2]) : System.nanoTime();
        List<Subject> subjects = Subjects.of(operator);
        long in = 0;
        long out = 0;
        for (int i = 0; i < subjects.size(); i++) {
            long share = rows * (i + 1) / subjects.size() - rows * i / subjects.size();
            Parity.Result result = Parity.run(subjects.get(i), seed + i, share);
            in += result.rowsIn();
            out += result.rowsOut();
            System.out.printf(
                    Locale.ROOT,
                    "%-60s %,12d rows in, %,12d out%n",
                    subjects.get(i),
                    result.rowsIn(),
                    result.rowsOut());
        }
        System.out.printf(
                Locale.ROOT,
                "parity %s, seed %d: %d subjects, %,d rows in, %,d rows of output compared, 0 differences%n",
                operator,
                seed,
                subjects.size(),
                in,
                out);
    }
}
