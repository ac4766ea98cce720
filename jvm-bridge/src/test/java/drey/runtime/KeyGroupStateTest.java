package drey.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;

class KeyGroupStateTest {

    private static final byte[] FIRST = {1, 2, 3};
    private static final byte[] SECOND = new byte[5000];

    @Test
    void readsBackWhatWasWrittenAndNotOneByteMore() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(written());
        out.write("the next key group".getBytes());
        ByteArrayInputStream in = new ByteArrayInputStream(out.toByteArray());

        KeyGroupState.Reader reader = new KeyGroupState.Reader(in);
        byte[] buffer = reader.chunk(new byte[10]);
        assertThat(Arrays.copyOf(buffer, reader.length())).isEqualTo(FIRST);
        buffer = reader.chunk(buffer);
        assertThat(Arrays.copyOf(buffer, reader.length())).isEqualTo(SECOND);
        assertThat(reader.chunk(buffer)).isNull();
        assertThat(new String(in.readAllBytes())).isEqualTo("the next key group");
    }

    @Test
    void bytesAreAsDocumented() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        KeyGroupState.Writer writer = new KeyGroupState.Writer(out);
        writer.chunk(FIRST, 3);
        writer.end();
        assertThat(out.toByteArray())
                .isEqualTo(
                        new byte[] {
                            'D', 'R', 'E', 'Y', -1, -1, -1, 1, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0
                        });
    }

    /** At whichever byte the stream breaks off, the answer is an error that says so, never a shorter state. */
    @Test
    void everyTruncationIsRefused() throws IOException {
        byte[] whole = written();
        for (int n = 0; n < whole.length; n++) {
            byte[] cut = Arrays.copyOf(whole, n);
            assertThatThrownBy(() -> readAll(cut))
                    .as("cut to %d bytes", n)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("truncated");
        }
    }

    @Test
    void foreignBytesAreRefusedByName() {
        assertThatThrownBy(() -> readAll(new byte[] {0, 0, 0, 1, 0, 11, 'u', 's', 'e', 'r'}))
                .isInstanceOf(IOException.class)
                .hasMessage("not a snapshot of a native operator: it starts with 00000001000b75");
    }

    @Test
    void laterFramingIsRefusedByVersion() throws IOException {
        byte[] later = written();
        later[7] = 2;
        assertThatThrownBy(() -> readAll(later))
                .isInstanceOf(IOException.class)
                .hasMessage("snapshot framing version 2, this library reads 1");
    }

    @Test
    void damagedLengthIsRefusedBeforeItIsBelieved() throws IOException {
        byte[] damaged = written();
        damaged[8] = 0x7F;
        assertThatThrownBy(() -> readAll(damaged))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("damaged");
    }

    private static byte[] written() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        KeyGroupState.Writer writer = new KeyGroupState.Writer(out);
        writer.chunk(FIRST, FIRST.length);
        writer.chunk(SECOND, SECOND.length);
        writer.end();
        return out.toByteArray();
    }

    private static void readAll(byte[] bytes) throws IOException {
        KeyGroupState.Reader reader = new KeyGroupState.Reader(new ByteArrayInputStream(bytes));
        byte[] buffer = new byte[16];
        while (buffer != null) {
            buffer = reader.chunk(buffer);
        }
    }
}
