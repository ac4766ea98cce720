/**
 * What a native operator is told when it is opened: one record per operator, written as canonical JSON.
 *
 * <p>The JSON crosses the boundary as text, names its fields as Flink's compiled plan does, and is read strictly on the
 * other side: an unknown or missing field is an error there. The files in {@code native/spec/testdata} are read by the
 * tests of both sides, so neither can move alone.
 */
package drey.spec;
