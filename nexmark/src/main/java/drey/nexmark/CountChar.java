package drey.nexmark;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.ScalarFunction;

/** The user-defined function of q14: how often a string's bytes hold the first byte of another string. */
public final class CountChar extends ScalarFunction {

    private static final long serialVersionUID = 1L;

    public long eval(
            @DataTypeHint(value = "STRING", bridgedTo = StringData.class) StringData text,
            @DataTypeHint(value = "STRING", bridgedTo = StringData.class) StringData character) {
        if (text == null) {
            return 0;
        }
        byte wanted = character.toBytes()[0];
        long count = 0;
        for (byte b : text.toBytes()) {
            if (b == wanted) {
                count++;
            }
        }
        return count;
    }
}
