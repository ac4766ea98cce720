package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.DataInputStream;
import java.io.IOException;

/** What the jar brings besides code that works. */
class JarContentsTest {

    /** The version of Java 11's class files. */
    private static final int JAVA_11 = 55;

    /** Flink loads them by name, also where it runs on Java 11: there they have to load and to step aside. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "org/apache/flink/table/planner/delegation/DefaultPlannerFactory",
                "org/apache/flink/table/planner/loader/DelegatePlannerFactory",
                "org/apache/flink/table/planner/loader/DelegatePlannerFactory$DreyPlannerClass",
                "drey/plan/FlinkLine"
            })
    void entryPointsLoadOnJava11(String name) throws IOException {
        try (DataInputStream in =
                new DataInputStream(FlinkLine.class.getResourceAsStream("/" + name + ".class"))) {
            assertThat(in.readInt()).isEqualTo(0xCAFEBABE);
            in.readUnsignedShort();
            assertThat(in.readUnsignedShort()).isEqualTo(JAVA_11);
        }
    }

    @Test
    void licencesOfWhatIsLinkedInAreThere() {
        assertThat(FlinkLine.class.getResource("/META-INF/LICENSE")).isNotNull();
        for (String module :
                new String[] {
                    "go/LICENSE",
                    "github.com/apache/arrow-go/v18/LICENSE.txt",
                    "github.com/klauspost/cpuid/v2/LICENSE",
                    "golang.org/x/sys/LICENSE"
                }) {
            assertThat(FlinkLine.class.getResource("/META-INF/licenses/" + module))
                    .as(module)
                    .isNotNull();
        }
    }
}
