package optest

import (
	"slices"
	"testing"
	"time"
)

// ReportTimes reports what a row took, of batches of so many rows: the mean, and the tenth percentile of the batches. The
// latter is what a batch takes when nobody else wants the processor, so it can be compared on a machine that is busy.
func ReportTimes(b *testing.B, batches []time.Duration, rows int) {
	b.Helper()
	sum := time.Duration(0)
	for _, d := range batches {
		sum += d
	}
	slices.Sort(batches)
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(batches)*rows), "ns/row")
	quiet := float64(batches[len(batches)/10].Nanoseconds()) / float64(rows)
	b.ReportMetric(quiet, "p10-ns/row")
	b.ReportMetric(1e9/quiet, "p10-rows/s")
}
