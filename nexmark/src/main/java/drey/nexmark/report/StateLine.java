package drey.nexmark.report;

import drey.nexmark.measure.Csv;
import drey.nexmark.measure.StateSize;

/** What the state of one query took with one engine. */
public record StateLine(String query, Conditions conditions, String engine, StateSize size) {

    public static final Csv<StateLine> CSV = new Csv<>(StateLine.class);
}
