package spec

import (
	"os"
	"strings"
	"testing"
)

func TestJoinNamesEveryProblem(t *testing.T) {
	for _, test := range []struct{ file, old, new, want string }{
		{"join_inner", `"INNER"`, `"CROSS"`, `joinType: "CROSS"`},
		{"join_inner", `"left":{"keys":[0]`, `"left":{"keys":[7]`, "left.keys[0]: column 7 out of range [0,7)"},
		{"join_inner", `"left":{"keys":[0]`, `"left":{"keys":[0,1]`, "right.keys: 1, but left.keys has 2; filterNulls: 1, but left.keys has 2"},
		{"join_inner", `"left":{"keys":[0]`, `"left":{"keys":[3]`, "right.keys[0]: column 0 is BIGINT, left column 3 is STRING"},
		{"join_inner", `"stateTtlMillis":0`, `"stateTtlMillis":-1`, "left.stateTtlMillis: -1 is negative"},
		{"join_inner_unique_keys", `"uniqueKey":[0]`, `"uniqueKey":[10]`, "right.uniqueKey[0]: column 10 out of range [0,10)"},
		{"join_mini_batch", `"size":5000`, `"size":0`, "miniBatch.size: 0, must be greater than 0"},
		{"join_mini_batch", `"LEFT"`, `"SEMI"`, "miniBatch: not possible with SEMI"},
	} {
		text, err := os.ReadFile("testdata/" + test.file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), test.old, test.new, 1)
		if changed == string(text) {
			t.Errorf("%s: no %s", test.file, test.old)
			continue
		}
		s, err := Decode([]byte(changed))
		if err != nil {
			t.Errorf("%s: %v", test.new, err)
			continue
		}
		if got := strings.Join(s.Validate(inputsOf(t, test.file+".json")), "; "); got != test.want {
			t.Errorf("%s: problems %q, want %q", test.new, got, test.want)
		}
	}
}

func TestJoinKeysContainUniqueKey(t *testing.T) {
	unique := func(columns ...int) *[]int { return &columns }
	for _, test := range []struct {
		side JoinSide
		want bool
	}{
		{JoinSide{Keys: []int{0, 1}}, false},
		{JoinSide{Keys: []int{0, 1}, UniqueKey: unique(1)}, true},
		{JoinSide{Keys: []int{0, 1}, UniqueKey: unique(1, 2)}, false},
		{JoinSide{Keys: []int{}, UniqueKey: unique()}, true}, // an input of one row at most
		{JoinSide{Keys: []int{}, UniqueKey: unique(0)}, false},
	} {
		if got := test.side.KeysContainUniqueKey(); got != test.want {
			t.Errorf("%+v: %v", test.side, got)
		}
	}
}

func TestJoinConditionForms(t *testing.T) {
	for _, test := range []struct{ old, new string }{
		{`"condition":"host",`, `"condition":"guest",`},
		{`"condition":"host",`, `"condition":null,`},
		{`"condition":"host",`, `"condition":{"op":"REF","type":"BOOLEAN","index":0},`},
		{`"condition":"host",`, `"condition":{"name":"x","op":"REF","type":"BOOLEAN"},`},
		{`"condition":"host",`, `"condition":{"op":"LITERAL","type":"BOOLEAN","value":null},`},
	} {
		text, err := os.ReadFile("testdata/join_right_host_condition.json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode([]byte(strings.Replace(string(text), test.old, test.new, 1))); err == nil {
			t.Errorf("%s was accepted", test.new)
		}
	}
}
