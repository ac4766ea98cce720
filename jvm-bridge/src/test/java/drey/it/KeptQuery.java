package drey.it;

import java.util.Map;

/** A query whose changes are kept. */
public interface KeptQuery {

    String name();

    String sql();

    /** How many columns, the first ones, are the key by which changes are ordered. */
    int keys();

    /** Configuration that holds for this query only. */
    Map<String, String> options();

    /** What the options that such queries may set are otherwise. */
    Map<String, String> defaults();

    /** The consumer takes upserts, so no -U is generated. */
    boolean upsert();
}
