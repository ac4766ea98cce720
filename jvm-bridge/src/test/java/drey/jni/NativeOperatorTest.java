package drey.jni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class NativeOperatorTest {

    @BeforeAll
    static void load() {
        NativeLibrary.load();
    }

    /** One number, in three places. */
    @Test
    void versionsAgree() throws Exception {
        Matcher header =
                Pattern.compile("#define DREY_ABI_VERSION (\\d+)")
                        .matcher(Files.readString(Path.of("../cgo/abi.h")));
        assertThat(header.find()).isTrue();
        assertThat(NativeOperator.bind(null)).isEqualTo(NativeLibrary.ABI_VERSION);
        assertThat(Integer.parseInt(header.group(1))).isEqualTo(NativeLibrary.ABI_VERSION);
    }

    /** The statuses of abi.h have the names and numbers of NativeException. */
    @Test
    void statusesAgree() throws Exception {
        Matcher status =
                Pattern.compile("DREY_([A-Z]+) = (\\d+),")
                        .matcher(
                                Files.readString(Path.of("../cgo/abi.h"))
                                        .replaceAll("(?s)enum drey_event.*", ""));
        int found = 0;
        while (status.find()) {
            assertThat(NativeException.statusName(Integer.parseInt(status.group(2))))
                    .isEqualTo(status.group(1));
            found++;
        }
        assertThat(found).isEqualTo(10);
    }

    @Test
    void thereAreTwelveNativesAndNothingElse() {
        Method[] methods =
                Arrays.stream(NativeOperator.class.getDeclaredMethods())
                        .filter(m -> !m.isSynthetic())
                        .toArray(Method[]::new);
        assertThat(methods).hasSize(12).allMatch(m -> Modifier.isNative(m.getModifiers()));
    }

    @ParameterizedTest
    @CsvSource({"0, for test", "1, nil pointer", "2, out of range"})
    void panicsBecomeExceptions(int kind, String part) {
        for (int i = 0; i < 100; i++) {
            assertThatThrownBy(() -> NativeOperator.panicForTest(0, kind))
                    .isInstanceOfSatisfying(
                            NativeException.class,
                            e -> assertThat(e.status()).isEqualTo(NativeException.INTERNAL))
                    .hasMessageContaining(part)
                    .hasMessageContaining("goroutine")
                    .hasMessageContaining("panicForTest");
        }
    }

    @Test
    void badArgumentsAreExceptions() {
        assertThatThrownBy(() -> NativeOperator.open(null, new long[1], 0, 1, 0, 0, 0, null))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> NativeOperator.open("{}", null, 0, 1, 0, 0, 0, null))
                .isInstanceOfSatisfying(
                        NativeException.class,
                        e -> assertThat(e.status()).isEqualTo(NativeException.INVALID));
        assertThatThrownBy(() -> NativeOperator.open("{}", new long[3], 0, 1, 0, 0, 0, null))
                .isInstanceOfSatisfying(
                        NativeException.class,
                        e -> assertThat(e.status()).isEqualTo(NativeException.INVALID));
        assertThatThrownBy(() -> NativeOperator.push(42, 0, 0, 0))
                .isInstanceOfSatisfying(
                        NativeException.class,
                        e -> assertThat(e.status()).isEqualTo(NativeException.CLOSED));
        assertThatThrownBy(() -> NativeOperator.bind(String.class))
                .isInstanceOf(NoSuchMethodError.class);
    }
}
