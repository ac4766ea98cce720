package native

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

const bid = `[{"name":"auction","type":"BIGINT"},{"name":"bidder","type":"BIGINT"},{"name":"price","type":"BIGINT"},` +
	`{"name":"channel","type":"STRING"},{"name":"url","type":"STRING"},{"name":"dateTime","type":"TIMESTAMP(3)"},{"name":"extra","type":"STRING"}]`

const auction = `[{"name":"id","type":"BIGINT"},{"name":"itemName","type":"STRING"},{"name":"description","type":"STRING"},` +
	`{"name":"initialBid","type":"BIGINT"},{"name":"reserve","type":"BIGINT"},{"name":"dateTime","type":"TIMESTAMP(3)"},` +
	`{"name":"expires","type":"TIMESTAMP(3)"},{"name":"seller","type":"BIGINT"},{"name":"category","type":"BIGINT"},{"name":"extra","type":"STRING"}]`

func fields(t *testing.T, texts ...string) []logical.Row {
	t.Helper()
	var rows []logical.Row
	for _, text := range texts {
		row, err := logical.ParseFields([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// Every specification that the host is known to write opens an operator.
func TestOpenGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("spec/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	refused := map[string]string{}
	inputs := map[string]string{
		"global_group_aggregate.json":      `[{"name":"bidder","type":"BIGINT"},{"name":"count1$0","type":"BIGINT"},{"name":"sum$1","type":"BIGINT"},{"name":"max$2","type":"STRING"}]`,
		"incremental_group_aggregate.json": `[{"name":"bidder","type":"BIGINT"},{"name":"bucket","type":"INT"},{"name":"count$0","type":"BIGINT"},{"name":"distinct$0","type":"RAW('org.apache.flink.table.api.dataview.MapView', 'serializer')"}]`,
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		budget := rowstate.NewBudget(0)
		rows := fields(t, bid)
		if input, ok := inputs[filepath.Base(file)]; ok {
			rows = fields(t, input)
		} else if strings.HasPrefix(filepath.Base(file), "join_") {
			rows = fields(t, bid, auction)
		}
		o, err := Open(text, rows, op.KeyGroups{First: 3, Last: 5, Max: 128}, budget, op.Host{Condition: noPairs{}})
		if reason := refused[filepath.Base(file)]; reason != "" {
			if !errors.Is(err, op.ErrUnsupported) || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v, want unsupported because of %s", file, err, reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		o.Close()
		if used := budget.Used(); used != 0 {
			t.Errorf("%s: %d bytes in use after Close", file, used)
		}
	}
}

// noPairs is a host's condition that nothing fulfils.
type noPairs struct{}

func (noPairs) Evaluate(_, _ *rowstate.Rows, matches []bool) error {
	clear(matches)
	return nil
}

func TestOpenRefuses(t *testing.T) {
	const spec = `{"generateInsert":true,"generateUpdateBefore":false,"isRowtime":false,"keepLastRow":true,` +
		`"operator":"deduplicate","outputInsertOnly":false,"stateTtlMillis":0,"uniqueKeys":[0],"version":1}`
	all := op.KeyGroups{First: 0, Last: 127, Max: 128}
	for _, test := range []struct {
		name, old, new string
		input          string
		groups         op.KeyGroups
		kind           error
		want           string
	}{
		{"operator", "deduplicate", "sort", bid, all, op.ErrUnsupported, `"sort"`},
		{"version", `"version":1`, `"version":9`, bid, all, op.ErrUnsupported, "version 9"},
		{"text", "true", "maybe", bid, all, op.ErrInvalid, "spec"},
		{"column", "[0]", "[7]", bid, all, op.ErrInvalid, "uniqueKeys[0]: column 7 out of range [0,7)"},
		{"type", "", "", `[{"name":"a","type":"TIMESTAMP(3) WITH TIME ZONE"}]`, all, op.ErrUnsupported, "TIMESTAMP(3) WITH TIME ZONE"},
		{"key groups", "", "", bid, op.KeyGroups{First: 5, Last: 4, Max: 128}, op.ErrInvalid, "key groups 5 to 4 of 128"},
		{"key groups", "", "", bid, op.KeyGroups{First: 0, Last: 128, Max: 128}, op.ErrInvalid, "key groups 0 to 128 of 128"},
	} {
		budget := rowstate.NewBudget(0)
		_, err := Open([]byte(strings.Replace(spec, test.old, test.new, 1)), fields(t, test.input), test.groups, budget, op.Host{})
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("%s: %d bytes in use", test.name, used)
		}
	}
}
