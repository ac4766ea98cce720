package spec

import (
	"strings"
	"testing"

	"drey/native/logical"
)

const rank = `{"function":"UpdatableTopN","generateUpdateBefore":true,"operator":"rank",` +
	`"orderBy":[{"index":2,"isAscending":false,"nullIsLast":true},{"index":5,"isAscending":true,"nullIsLast":false}],` +
	`"outputRowNumber":true,"partition":[0],"primaryKeys":[0,1],"rankRange":{"end":10,"start":1,"type":"Constant"},` +
	`"stateTtlMillis":0,"version":1}`

func TestRankIsCanonical(t *testing.T) {
	for _, text := range []string{
		rank,
		strings.Replace(strings.Replace(rank, "UpdatableTopN", "RetractableTopN", 1), `"primaryKeys":[0,1],`, "", 1),
		strings.Replace(rank, `{"end":10,"start":1,"type":"Constant"}`, `{"endIndex":1,"type":"Variable"}`, 1),
		strings.Replace(rank, `"partition":[0]`, `"partition":[]`, 1),
		strings.Replace(rank, `"orderBy":[{"index":2,"isAscending":false,"nullIsLast":true},{"index":5,"isAscending":true,"nullIsLast":false}]`, `"orderBy":[]`, 1),
	} {
		s, err := Decode([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if problems := s.Validate([]logical.Row{bid(t)}); problems != nil {
			t.Errorf("%s: %q", text, problems)
		}
	}
	s, err := Decode([]byte(rank))
	if err != nil {
		t.Fatal(err)
	}
	r := s.(*Rank)
	if r.Function != UpdatableTopN || !r.OutputRowNumber || len(r.OrderBy) != 2 || r.OrderBy[1].Index != 5 || !r.OrderBy[1].IsAscending ||
		!r.OrderBy[0].NullIsLast || *r.RankRange.End != 10 || r.RankRange.IsTop1() || len(r.PrimaryKeys) != 2 {
		t.Errorf("read as %+v", r)
	}
}

func TestRankNamesEveryProblem(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"index":5`, `"index":7`, "orderBy[1].index: column 7 out of range [0,7)"},
		{`"partition":[0]`, `"partition":[0,-1]`, "partition[1]: column -1 out of range [0,7)"},
		{`"primaryKeys":[0,1]`, `"primaryKeys":[9]`, "primaryKeys[0]: column 9 out of range [0,7)"},
		{`"UpdatableTopN"`, `"AppendOnlyTopN"`, "primaryKeys: AppendOnlyTopN has none"},
		{`"UpdatableTopN"`, `"TopN"`, `function: "TopN"; primaryKeys: TopN has none`},
		{`"UpdatableTopN"`, `"FastTop1"`, "rankRange: FastTop1 needs 1 to 1; primaryKeys: FastTop1 has none"},
		{`"start":1`, `"start":0`, "rankRange: from 0 to 10"},
		{`"start":1`, `"start":11`, "rankRange: from 11 to 10"},
		{`"start":1,`, ``, "rankRange: Constant needs start and end, nothing else"},
		{`{"end":10,"start":1,"type":"Constant"}`, `{"type":"Variable"}`, "rankRange: Variable needs endIndex, nothing else"},
		{`{"end":10,"start":1,"type":"Constant"}`, `{"endIndex":3,"type":"Variable"}`, "rankRange.endIndex: column 3 is STRING, must be BIGINT, INT or SMALLINT"},
		{`{"end":10,"start":1,"type":"Constant"}`, `{"endIndex":8,"type":"Variable"}`, "rankRange.endIndex: column 8 out of range [0,7)"},
		{`"type":"Constant"`, `"type":"Sliding"`, `rankRange.type: "Sliding"`},
		{`"stateTtlMillis":0`, `"stateTtlMillis":-1`, "stateTtlMillis: -1 is negative"},
	} {
		s, err := Decode([]byte(strings.Replace(rank, test.old, test.new, 1)))
		if err != nil {
			t.Errorf("%s: %v", test.new, err)
			continue
		}
		if got := strings.Join(s.Validate([]logical.Row{bid(t)}), "; "); got != test.want {
			t.Errorf("%s: problems %q, want %q", test.new, got, test.want)
		}
	}
}
