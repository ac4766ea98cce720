package drey.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.JobID;
import org.junit.jupiter.api.Test;

class SaidOnceTest {

    private final SaidOnce said = new SaidOnce();
    private final JobID job = new JobID();

    @Test
    void eachJobAndEachReasonIsOne() {
        assertThat(said.first(job, "no library")).isTrue();
        assertThat(said.first(job, "no library")).isFalse();
        assertThat(said.first(job, "no memory")).isTrue();
        assertThat(said.first(new JobID(), "no library")).isTrue();
        assertThat(said.first(job, "no memory")).isFalse();
    }

    @Test
    void jobsThatAreGoneAreForgottenAndTheOneAtWorkIsNot() {
        JobID gone = new JobID();
        said.first(gone, "no library");
        said.first(job, "no library");
        for (int i = 0; i < SaidOnce.MOST; i++) {
            assertThat(said.first(new JobID(), "no library")).isTrue();
            assertThat(said.first(job, "no library")).isFalse();
        }
        assertThat(said.first(gone, "no library")).isTrue();
    }
}
