package spec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drey/native/logical"
)

func row(t testing.TB, types ...string) logical.Row {
	t.Helper()
	var r logical.Row
	for _, text := range types {
		typ, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Fields = append(r.Fields, logical.Field{Name: "f", Type: typ})
	}
	return r
}

// bid is an input that every golden file fits.
func bid(t testing.TB) logical.Row {
	return row(t, "BIGINT", "BIGINT", "BIGINT", "STRING", "STRING", "TIMESTAMP(3)", "STRING")
}

// inputsOf are the inputs that a golden file is for; a join's are bids and auctions.
func inputsOf(t testing.TB, file string) []logical.Row {
	if strings.HasPrefix(filepath.Base(file), "join_") {
		return []logical.Row{bid(t), row(t, "BIGINT", "STRING", "STRING", "BIGINT", "BIGINT", "TIMESTAMP(3)", "TIMESTAMP(3)",
			"BIGINT", "BIGINT", "STRING")}
	}
	return []logical.Row{inputOf(t, file)}
}

// inputOf is the input that the golden file of an operator with one input is for.
func inputOf(t testing.TB, file string) logical.Row {
	switch filepath.Base(file) {
	case "global_group_aggregate.json":
		return row(t, "BIGINT", "BIGINT", "BIGINT", "STRING")
	case "incremental_group_aggregate.json":
		return row(t, "BIGINT", "INT", "BIGINT", "RAW('org.apache.flink.table.api.dataview.MapView', 'serializer')")
	}
	return bid(t)
}

// The Java side builds the same files from exec nodes.
func TestGoldenFilesAreCanonical(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Decode(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got := Encode(s); !bytes.Equal(got, text) {
			t.Errorf("%s: encoded as %s", file, got)
		}
		if problems := s.Validate(inputsOf(t, file)); problems != nil {
			t.Errorf("%s: %q", file, problems)
		}
	}
}

const plain = `{"generateInsert":true,"generateUpdateBefore":false,"isRowtime":true,"keepLastRow":true,` +
	`"operator":"deduplicate","outputInsertOnly":false,"rowtimeIndex":5,"stateTtlMillis":0,"uniqueKeys":[1,0],"version":1}`

func TestDecodeReadsFields(t *testing.T) {
	s, err := Decode([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	d := s.(*Deduplicate)
	if !d.GenerateInsert || d.GenerateUpdateBefore || !d.IsRowtime || !d.KeepLastRow || d.OutputInsertOnly ||
		*d.RowtimeIndex != 5 || d.StateTTLMillis != 0 || len(d.UniqueKeys) != 2 || d.UniqueKeys[0] != 1 || d.MiniBatch != nil {
		t.Errorf("read as %+v", d)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		unknown        bool
	}{
		{"no JSON", plain, `{`, false},
		{"another version", `"version":1`, `"version":2`, true},
		{"no version", `,"version":1`, ``, true},
		{"another operator", `"deduplicate"`, `"cobble"`, true},
		{"an unknown field", `"keepLastRow"`, `"keepFirst":1,"keepLastRow"`, false},
		{"a missing field", `"keepLastRow":true,`, ``, false},
		{"a field twice", `"keepLastRow":true,`, `"keepLastRow":true,"keepLastRow":true,`, false},
		{"a null", `"rowtimeIndex":5`, `"rowtimeIndex":null`, false},
		{"another order", `"generateInsert":true,"generateUpdateBefore":false`, `"generateUpdateBefore":false,"generateInsert":true`, false},
		{"other capitals", `"keepLastRow"`, `"KeepLastRow"`, false},
		{"a space", `:true`, `: true`, false},
		{"a tail", `"version":1}`, `"version":1}{}`, false},
		{"a wrong type", `"rowtimeIndex":5`, `"rowtimeIndex":"5"`, false},
		{"a fraction", `"rowtimeIndex":5`, `"rowtimeIndex":5.5`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(plain, test.old, test.new, 1)
			if text == plain {
				t.Fatal("the test changes nothing")
			}
			if _, err := Decode([]byte(text)); err == nil || errors.Is(err, ErrUnknown) != test.unknown {
				t.Errorf("%s: error %v, unknown: want %v", text, err, test.unknown)
			}
		})
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	index := 1
	d := &Deduplicate{
		Name: "deduplicate", KeepLastRow: true, OutputInsertOnly: true, RowtimeIndex: &index, StateTTLMillis: -1,
		MiniBatch: &MiniBatch{}, UniqueKeys: []int{0, 7, -1},
	}
	problems := d.Validate([]logical.Row{row(t, "INT", "INT")})
	want := []string{
		"uniqueKeys[1]: column 7 out of range [0,2)",
		"uniqueKeys[2]: column -1 out of range [0,2)",
		"rowtimeIndex: given, but isRowtime is false",
		"stateTtlMillis: -1 is negative",
		"miniBatch.size: 0, must be greater than 0",
		"outputInsertOnly: needs keepLastRow to be false",
		"outputInsertOnly: not possible with miniBatch",
	}
	if strings.Join(problems, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
}

func TestValidateRowtimeColumn(t *testing.T) {
	for text, ok := range map[string]bool{
		"TIMESTAMP(3)": true, "TIMESTAMP(3) WITH LOCAL TIME ZONE": true, "TIMESTAMP(0)": true, "TIMESTAMP(6)": false,
		"BIGINT": false, "TIMESTAMP(3) WITH TIME ZONE": false,
	} {
		index := 0
		d := &Deduplicate{Name: "deduplicate", IsRowtime: true, RowtimeIndex: &index, UniqueKeys: []int{0}}
		if problems := d.Validate([]logical.Row{row(t, text)}); (len(problems) == 0) != ok {
			t.Errorf("%s: problems %q", text, problems)
		}
	}
}

func TestFingerprintNeverChanges(t *testing.T) {
	// The first eight bytes of the SHA-256 of "abc", from FIPS 180-2.
	if got, want := Fingerprint([]byte("abc")), uint64(0xba7816bf8f01cfea); got != want {
		t.Errorf("fingerprint %#x, want %#x", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(plain))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Decode(text)
		if err != nil {
			return
		}
		s.Validate([]logical.Row{bid(t)})
		if !bytes.Equal(Encode(s), text) {
			t.Fatalf("accepted %s, which is not canonical", text)
		}
	})
}
