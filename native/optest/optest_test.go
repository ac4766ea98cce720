package optest

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"drey/native/logical"
)

func codec(t testing.TB, fields string) *Codec {
	t.Helper()
	row, err := logical.ParseFields([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCodec(row)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const everything = `[{"name":"a","type":"BOOLEAN"},{"name":"b","type":"TINYINT"},{"name":"c","type":"SMALLINT"},` +
	`{"name":"d","type":"INT"},{"name":"e","type":"BIGINT"},{"name":"f","type":"FLOAT"},{"name":"g","type":"DOUBLE"},` +
	`{"name":"h","type":"DECIMAL(10, 2)"},{"name":"i","type":"DECIMAL(38, 3)"},{"name":"j","type":"TIMESTAMP(3)"},` +
	`{"name":"k","type":"TIMESTAMP(9)"},{"name":"l","type":"STRING"},{"name":"m","type":"BYTES"},{"name":"n","type":"ARRAY<INT>"}]`

func TestTextComesBack(t *testing.T) {
	c := codec(t, everything)
	for _, text := range []string{
		`+I true -1 -300 70000 -5000000000 1.5 -0 12.50 -0.001 -5 1000+999999 "it's \"quoted\" \\ here" x'00ff' x'0102'`,
		`-D false 127 0 0 0 NaN NaN -0.05 99999999999999999999999999999999999.999 0 0+0 "" x'' x''`,
		`-U NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL`,
		`+U true 0 0 0 0 -Infinity Infinity 0.00 128.000 0 -1+1 "ünï €" x'0001020304050607080910' x'ff'`,
	} {
		kind, row, err := c.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Format(kind, row); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
		raw := text[:2] + " row:" + hex.EncodeToString(row)
		if kind2, row2, err := c.Parse(raw); err != nil || kind2 != kind || !bytes.Equal(row, row2) {
			t.Errorf("%s: %v, %v", raw, row2, err)
		}
	}
}

func TestTextIsRefused(t *testing.T) {
	c := codec(t, `[{"name":"a","type":"INT"},{"name":"b","type":"STRING"},{"name":"c","type":"DECIMAL(5, 2)"}]`)
	for _, text := range []string{
		``, `1 "a" 1.00`, `*I 1 "a" 1.00`, `+I 1 "a"`, `+I 1 "a" 1.00 5`, `+I x "a" 1.00`, `+I 1 "a 1.00`, `+I 1 a 1.00`,
		`+I 1 "a" 1.0`, `+I 1 "a" 1`, `+I 1 "a" 1.x0`, `+I row:zz`, `+I row:00`, `+I row:`,
	} {
		if _, row, err := c.Parse(text); err == nil {
			t.Errorf("%q was read as %x", text, row)
		}
	}
}

// The bytes of decimals are those of java.math.BigInteger.toByteArray.
func TestDecimalBytes(t *testing.T) {
	c := codec(t, `[{"name":"a","type":"DECIMAL(38, 0)"}]`)
	for text, want := range map[string]string{
		"0": "00", "1": "01", "127": "7f", "128": "0080", "150": "0096", "255": "00ff", "256": "0100", "-1": "ff", "-128": "80",
		"-129": "ff7f", "-150": "ff6a", "-256": "ff00", "-32768": "8000", "-32769": "ff7fff",
	} {
		_, row, err := c.Parse("+I " + text)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(c.layout.Bytes(row, 0)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

const scenario = `# comment
spec {"operator":"x"}
input [{"name":"a","type":"INT"}]
input [{"name":"a","type":"BIGINT"}]
output [{"name":"a","type":"STRING"}]

> now 5
> +I 1
+I "one"
-D "one"
> 1 -D 5000000000
> watermark -7
+U NULL
> flush
`

func TestParseScenario(t *testing.T) {
	s, err := ParseScenario("name", scenario)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Inputs) != 2 || string(s.Spec) != `{"operator":"x"}` || len(s.Events) != 5 || s.Whole {
		t.Fatalf("parsed as %+v", s)
	}
	if e := s.Events[0]; e.Kind != Now || e.Value != 5 || e.Line != 7 {
		t.Errorf("event 0: %+v", e)
	}
	if e := s.Events[1]; e.Kind != Row || e.Input != 0 || len(e.Want) != 2 || e.Want[1].Kind.String() != "-D" {
		t.Errorf("event 1: %+v", e)
	}
	if e := s.Events[2]; e.Kind != Row || e.Input != 1 || e.Row.Kind.String() != "-D" || e.Want != nil {
		t.Errorf("event 2: %+v", e)
	}
	if e := s.Events[3]; e.Kind != Watermark || e.Value != -7 || len(e.Want) != 1 {
		t.Errorf("event 3: %+v", e)
	}
	if e := s.Events[4]; e.Kind != Flush {
		t.Errorf("event 4: %+v", e)
	}
}

func TestParseScenarioRefuses(t *testing.T) {
	for _, edit := range [][2]string{
		{"spec {", "what {"}, {"> now 5", "> now x"}, {"> now 5", "> later"}, {"> 1 -D 5000000000", "> 2 -D 1"}, {"> +I 1", "+I 1"},
		{"> +I 1", "> +I one"}, {`+I "one"`, `+I one`}, {"INT", "INTO"}, {`spec {"operator":"x"}`, ``}, {"> flush", "flush"},
	} {
		text := strings.Replace(scenario, edit[0], edit[1], 1)
		if _, err := ParseScenario("name", text); err == nil {
			t.Errorf("%q in place of %q is accepted", edit[1], edit[0])
		}
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add(scenario)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScenario("fuzz", text)
		if err != nil {
			return
		}
		for _, e := range s.Events {
			for _, o := range e.Want {
				if err := s.out.layout.Check(o.Row); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
