-- The source and nothing else, without watermarks, for what a query costs beyond it.
CREATE TABLE source_only WITH (${SOURCE}) LIKE datagen (EXCLUDING ALL);

CREATE TABLE nexmark_source WITH (${SINK}) LIKE datagen (EXCLUDING ALL);

INSERT INTO nexmark_source
SELECT event_type, person, auction, bid FROM source_only;
