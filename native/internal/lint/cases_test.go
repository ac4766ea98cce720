package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The known faults of other engines, by their numbers.
const knownFaults = "B01 B02 B03 B04 B07 B08 B10 B11 B12 B13 B14 B16 B17 B18 B19 B20 B24 B26 B27 B28 B30 B31 B32 B34 B37 B39 B40 " +
	"B42 B44 B46 B47 B49 B52 B53 B54 B55 B57 B59 B60 B61 B62"

// Each known fault has a test that exists: a scenario file, or a member of a test's source.
func TestCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{} // by path, without extension
	walk(t, func(p string) {
		if strings.HasSuffix(p, "_test.go") || strings.Contains(p, "/src/test/") {
			content, err := os.ReadFile(filepath.Join(root, p))
			if err != nil {
				t.Fatal(err)
			}
			sources[strings.TrimSuffix(p, path.Ext(p))] = string(content)
		}
	})
	exists := func(file, member string) bool {
		if path.Ext(file) == ".txt" {
			found, _ := filepath.Glob(filepath.Join(root, "native/*/testdata", file))
			return len(found) > 0
		}
		for p, content := range sources {
			if strings.HasSuffix("/"+p, "/"+file) && regexp.MustCompile(`\b`+member).MatchString(content) {
				return true
			}
		}
		return false
	}
	rows := map[string]int{}
	row := regexp.MustCompile(`(?m)^\| (B\d+) \|([^|]*)\|([^|]*)\|([^|]*)\|$`)
	reference := regexp.MustCompile("`([\\w/]+(?:\\.txt)?)(?:#(\\w+))?`")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		rows[m[1]]++
		tests := reference.FindAllStringSubmatch(m[3], -1)
		if len(tests) == 0 || strings.TrimSpace(m[4]) == "" {
			t.Errorf("case %s has no test, or no result on stock Flink", m[1])
		}
		for _, test := range tests {
			if !exists(test[1], test[2]) {
				t.Errorf("case %s: there is no %s", m[1], test[0])
			}
		}
	}
	for number := range strings.FieldsSeq(knownFaults) {
		if rows[number] != 1 {
			t.Errorf("case %s has %d rows in docs/cases.md", number, rows[number])
		}
	}
}
