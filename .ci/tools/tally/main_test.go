package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSurefire(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := surefire([]string{dir}); err == nil {
		t.Error("no reports at all must be an error")
	}
	write("TEST-a.xml", `<?xml version="1.0"?><testsuite name="a" tests="5" errors="1" failures="1" skipped="1"/>`)
	write("TEST-b.xml", `<?xml version="1.0"?><testsuite name="b" tests="3" errors="0" failures="0" skipped="0"><testcase/></testsuite>`)
	got, err := surefire([]string{dir})
	if want := (counts{passed: 5, failed: 2, skipped: 1}); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
