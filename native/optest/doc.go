// Package optest tests operators through scenarios: files that say what goes in and what must come out, event by event.
// They are written by hand, from SQL and Flink's documented behaviour, or recorded from Flink's own operators; never from
// ours. Only tests import this package.
//
// # Scenario files
//
// A scenario is a text file in the testdata of an operator's package, named after the behaviour it shows:
//
//	# Comments may stand anywhere, on lines of their own. The first says what this is and, if recorded, by which Flink.
//	spec {"generateInsert":true,"generateUpdateBefore":true,...}
//	input [{"name":"k","type":"BIGINT"},{"name":"s","type":"STRING"},{"name":"t","type":"TIMESTAMP(3)"}]
//
//	> now 1000
//	> +I 7 "a b" 100
//	+I 7 "a b" 100
//	> +I 7 NULL 200
//	-U 7 "a b" 100
//	+U 7 NULL 200
//	> watermark 150
//
// The header has one spec line, the specification in canonical JSON, and one input line per input, the fields as JSON.
// A line "output [...]" gives the fields of the output rows; without it they are those of input 0. A line "whole" says that
// the scenario must not be interrupted by a restore, because what is restored does not include the watermark.
//
// Then come events, each on a line that starts with "> ", and below each the rows it makes the operator emit, in order:
//
//	> now N          the host's clock shows N, epoch milliseconds; until the first such event it shows 0
//	> +I ...         a row comes in on input 0, with its row kind
//	> 1 +I ...       a row comes in on input 1
//	> watermark N    event time has reached N
//	> flush          the host ends the mini-batch bundle
//
// Fields are separated by one space, in the form
//
//	NULL                                        null
//	true, false                                 BOOLEAN
//	-12                                         whole numbers, DATE, TIME, intervals
//	1.5, NaN, -Infinity                         FLOAT, DOUBLE: any text that reads back to the same bits
//	12.50                                       DECIMAL, with exactly the type's scale
//	1700000000000                               timestamps up to 3: milliseconds
//	1700000000000+999999                        timestamps over 3: milliseconds + nanoseconds
//	"say \"hi\""                                strings, as in JSON
//	x'00ff'                                     binary strings; nested types in their own binary form
//
// A row is also understood as row:0000..., all its bytes in hex. Rows are compared as bytes, so where it matters how a
// null is written (see package binrow), that form says it exactly.
//
// # What Run does with a scenario
//
// It plays it in batches of 1, 2, 3, 7 and all rows, of one input and, if the operator takes such, of both; with a snapshot and a new operator restored from it between any two
// batches; and with the state split over two operators and merged into one again. Each time all output must be as written,
// row by row, with the causing row as source.
package optest
