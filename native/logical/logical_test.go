package logical

import (
	"strings"
	"testing"
)

// serializable are texts that LogicalType.asSerializableString() gives, so they come back unchanged.
var serializable = []string{
	"CHAR(1)", "CHAR(2147483647)", "VARCHAR(12)", "STRING", "BOOLEAN", "BINARY(3)", "VARBINARY(3)", "BYTES",
	"DECIMAL(10, 0)", "DECIMAL(38, 18)", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(0)",
	"TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH TIME ZONE",
	"INTERVAL YEAR(4)", "INTERVAL YEAR(2) TO MONTH", "INTERVAL MONTH", "INTERVAL DAY(2)", "INTERVAL DAY(3) TO HOUR",
	"INTERVAL DAY(2) TO MINUTE", "INTERVAL DAY(2) TO SECOND(6)", "INTERVAL HOUR", "INTERVAL HOUR TO MINUTE",
	"INTERVAL HOUR TO SECOND(6)", "INTERVAL MINUTE", "INTERVAL MINUTE TO SECOND(3)", "INTERVAL SECOND(9)",
	"ARRAY<INT NOT NULL>", "MULTISET<STRING>", "MAP<STRING, ARRAY<BIGINT>>", "ROW<>",
	"ROW<`a` INT NOT NULL, `b` STRING 'it''s b', `odd `` name` ROW<`x` DOUBLE> NOT NULL>",
	"STRUCTURED<'com.example.User', `name` STRING, `age` INT NOT NULL>", "`cat`.`db`.`type`", "NULL",
	"RAW('java.lang.Class', 'AEZvcmc=')", "LEGACY('RAW', 'ANY<java.lang.Object>')", "VARIANT", "DESCRIPTOR", "BITMAP",
}

func TestParseKeepsSerializableText(t *testing.T) {
	for _, text := range serializable {
		for _, nullability := range []string{"", " NOT NULL"} {
			if text == "NULL" && nullability != "" {
				continue
			}
			in := text + nullability
			got, err := Parse(in)
			if err != nil {
				t.Errorf("%s: %v", in, err)
				continue
			}
			if got.String() != in {
				t.Errorf("%s came back as %s", in, got)
			}
			if got.NotNull != (nullability != "") {
				t.Errorf("%s: NotNull is %v", in, got.NotNull)
			}
		}
	}
}

func TestParseOtherSpellings(t *testing.T) {
	for in, want := range map[string]string{
		"int not null":                          "INT NOT NULL",
		"INTEGER NULL":                          "INT",
		"char":                                  "CHAR(1)",
		"VARCHAR":                               "VARCHAR(1)",
		"VARCHAR(2147483647)":                   "STRING",
		"dec(5)":                                "DECIMAL(5, 0)",
		"DECIMAL":                               "DECIMAL(10, 0)",
		"NUMERIC(5,2)":                          "DECIMAL(5, 2)",
		"DOUBLE PRECISION NOT NULL":             "DOUBLE NOT NULL",
		"TIME":                                  "TIME(0)",
		"TIMESTAMP":                             "TIMESTAMP(6)",
		"TIMESTAMP WITHOUT TIME ZONE":           "TIMESTAMP(6)",
		"TIMESTAMP_LTZ(3)":                      "TIMESTAMP(3) WITH LOCAL TIME ZONE",
		"INTERVAL DAY TO SECOND":                "INTERVAL DAY(2) TO SECOND(6)",
		"ROW(a INT, b ROW<c DATE>)":             "ROW<`a` INT, `b` ROW<`c` DATE>>",
		"INT NOT NULL ARRAY NOT NULL":           "ARRAY<INT NOT NULL> NOT NULL",
		"STRING MULTISET":                       "MULTISET<STRING>",
		"STRUCTURED<'c.X'>":                     "STRUCTURED<'c.X', >",
		"mycat.mydb.mytype":                     "`mycat`.`mydb`.`mytype`",
		"ROW<`INT` INT, `select` VARCHAR(0)  >": "ROW<`INT` INT, `select` VARCHAR(0)>",
	} {
		got, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got.String() != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestParseSetsFields(t *testing.T) {
	got, err := Parse("ROW<`d` DECIMAL(20, 3), `t` TIMESTAMP_LTZ(9) NOT NULL>")
	if err != nil {
		t.Fatal(err)
	}
	d, ts := got.Fields[0], got.Fields[1]
	if d.Name != "d" || d.Type.Kind != Decimal || d.Type.Precision != 20 || d.Type.Scale != 3 || d.Type.NotNull {
		t.Errorf("first field is %+v", d)
	}
	if ts.Type.Kind != TimestampLTZ || ts.Type.Precision != 9 || !ts.Type.NotNull {
		t.Errorf("second field is %+v", ts)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "INT INT", "INT NOT", "CHAR(", "CHAR(x)", "CHAR(99999999999)", "DECIMAL(39)", "DECIMAL(5, 6)", "DECIMAL(0)",
		"TIMESTAMP(10)", "TIME(-1)", "ROW<INT>", "ROW<a INT", "ROW<a INT b INT>", "ARRAY<>", "ARRAY<INT", "MAP<INT>",
		"INTERVAL", "INTERVAL MONTH TO YEAR", "INTERVAL YEAR(9)", "ROW<`a INT>", "RAW('x')", "'x'", "5", "ROW<`` INT>",
		strings.Repeat("ARRAY<", 100) + "INT" + strings.Repeat(">", 100),
	} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q parsed as %s", in, got)
		}
	}
}

func TestParseFields(t *testing.T) {
	const text = "[{\"name\":\"auction\",\"type\":\"BIGINT NOT NULL\"},{\"name\":\"a \\\"b\\\" <&>\",\"type\":\"ROW<`x` INT>\"}]"
	row, err := ParseFields([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if row.Len() != 2 || row.Fields[1].Name != `a "b" <&>` || row.Types()[0].Kind != BigInt {
		t.Errorf("parsed as %+v", row)
	}
	if got := string(FormatFields(row)); got != text {
		t.Errorf("formatted as %s", got)
	}
	for _, bad := range []string{
		"", "{}", "[{}]", `[{"name":"a"}]`, `[{"name":"a","type":"INT","x":1}]`, `[{"name":"a","type":"WHAT("}]`, `[] []`, `[{"name":null,"type":"INT"}]`,
	} {
		if got, err := ParseFields([]byte(bad)); err == nil {
			t.Errorf("%s parsed as %v", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range serializable {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(got.String())
		if err != nil {
			t.Fatalf("%q parsed as %s, which does not parse: %v", text, got, err)
		}
		if again.String() != got.String() {
			t.Fatalf("%q parsed as %s, then as %s", text, got, again)
		}
	})
}
