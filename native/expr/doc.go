// Package expr evaluates the residual predicate of a join natively: a small language of expressions over two rows, in
// which every operator does exactly what the code does that Flink generates for it (ScalarOperatorGens, the cast rules).
// What is not listed here is not in the language; a host that meets it evaluates the whole predicate itself.
//
// # Form
//
// An expression is a JSON object with sorted keys:
//
//	{"index":5,"op":"REF","type":"TIMESTAMP(3)"}           field 5 of the left row followed by the right row
//	{"op":"LITERAL","type":"BIGINT","value":"100"}         without "value": NULL of that type
//	{"args":[…],"op":"AND","type":"BOOLEAN"}               everything else
//
// A type is a logical type's asSerializableString without NOT NULL (which is ignored if it is there): null is found out
// at run time. Literals, as text:
//
//	BOOLEAN                   true, false
//	integers                  decimal digits with - in front if negative
//	FLOAT, DOUBLE             what Java's Float.toString and Double.toString write; neither NaN nor infinite
//	DECIMAL(p, s)             BigDecimal.toPlainString; at most p digits, s of them behind the point
//	DATE, TIME                days since the epoch; milliseconds of the day
//	TIMESTAMP, TIMESTAMP_LTZ  milliseconds since the epoch, a blank, nanoseconds of the millisecond: 1700000000123 0
//	intervals                 months; milliseconds
//	CHAR, VARCHAR             the text
//	BINARY, VARBINARY         hexadecimal digits
//
// # Operators
//
// "int" is TINYINT, SMALLINT, INT, BIGINT; "numeric" int, FLOAT, DOUBLE. "Alike" types have the same kind and, for
// decimals, precision and scale. A type that stands in no rule for an operator is not in the language with it.
//
//	= <> < <= > >=           BOOLEAN of two arguments: both numeric (Java's promotion: long; else float, unless a DOUBLE is
//	                         there); both DECIMAL, or DECIMAL and int; both TIMESTAMP or both TIMESTAMP_LTZ, of any
//	                         precision; both DATE, both TIME, both the same kind of interval; both BOOLEAN; both of CHAR
//	                         and VARCHAR (the order of bytes); both of BINARY and VARBINARY: < <= > >= = <> by unsigned bytes
//	IS DISTINCT FROM         like <>, of two nulls false, of one null true
//	IS NOT DISTINCT FROM     the opposite
//	AND OR                   BOOLEAN of two or more, three-valued
//	NOT                      BOOLEAN of one, three-valued
//	IS NULL, IS NOT NULL     BOOLEAN of one of any type but nested ones
//	IS TRUE, IS NOT TRUE, IS FALSE, IS NOT FALSE    BOOLEAN of a BOOLEAN
//	+ - *                    int of two ints no wider than it: wraps around;  FLOAT of ints and FLOATs;  DOUBLE of numerics;
//	                         DECIMAL(p, s) of two DECIMALs where nothing can be rounded or overflow: + and - with s = max(s1, s2)
//	                         and p - s > max(p1 - s1, p2 - s2), * with s = s1 + s2 and p >= p1 + p2
//	+ -                      TIMESTAMP or TIMESTAMP_LTZ of one alike and INTERVAL DAY TO SECOND, in this order;
//	                         DATE of a DATE and a literal INTERVAL DAY TO SECOND; an interval of two intervals of its kind
//	-                        INTERVAL DAY TO SECOND of two TIMESTAMPs, or two TIMESTAMP_LTZs: milliseconds, sub-milliseconds ignored
//	- (one argument)         numeric and intervals, of an argument of the same kind
//	/ %                      int of two ints of its kind, the divisor a literal other than 0
//	/                        FLOAT of FLOATs, DOUBLE of DOUBLEs
//	CASE                     condition, result, condition, result, …, result; results alike and like the type
//	COALESCE                 of one or more, all alike and like the type
//	CAST                     numeric to numeric as Java casts;  int to DECIMAL(p, s) with p - s >= 3, 5, 10, 19 by width;
//	                         DECIMAL to int;  DECIMAL to DECIMAL with no less digits on either side of the point;
//	                         DECIMAL up to 18 digits to FLOAT and DOUBLE;  TIMESTAMP to TIMESTAMP and TIMESTAMP_LTZ to
//	                         TIMESTAMP_LTZ of any precision, but no rowtime to less than 3;  DATE and TIME to TIMESTAMP;
//	                         TIMESTAMP to DATE;  CHAR and VARCHAR to STRING;  anything but strings and timestamps to a type alike
//
// BETWEEN, IN and SEARCH are for the host to spell out with these.
//
// # Evaluation
//
// Compile makes a Program: a list of steps over columns, one value per pair of rows. A batch of pairs goes through the
// steps one after the other, so that a step's cost is a loop, not a call per pair. AND and OR need no short circuit,
// because no step can fail.
package expr
