package abitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// host is the C program; built once, by TestMain.
var host string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "abitest")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	host = filepath.Join(dir, "abitest")
	build := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			panic(name + " " + strings.Join(args, " ") + ": " + err.Error() + "\n" + string(out))
		}
	}
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	parent := filepath.Dir(here)
	lib := filepath.Join(dir, "libdrey.so")
	build("go", "build", "-buildmode=c-shared", "-trimpath",
		"-ldflags", "-extldflags=-Wl,--version-script="+filepath.Join(parent, "libdrey.map"), "-o", lib, "drey/cgo")
	cc := func(program string, more ...string) {
		compiler := os.Getenv("CC")
		if compiler == "" {
			compiler = "gcc"
		}
		build(compiler, append([]string{"-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter",
			"-Werror", "-I", parent, "-o", program, filepath.Join("testdata", filepath.Base(program)+".c"), "-lpthread"}, more...)...)
	}
	cc(host, lib)
	cc(filepath.Join(dir, "signals"), filepath.Join(parent, "signals.c"))
	return m.Run()
}

func TestHost(t *testing.T) {
	for _, name := range []string{"lifecycle", "handles", "panics", "malformed", "bad_schemas", "deduplicate", "snapshots", "budget", "threads", "joined", "fan_out", "condition", "failing_query",
		"flat"} {
		t.Run(name, func(t *testing.T) {
			if name == "flat" && testing.Short() {
				t.Skip("a million batches take seconds")
			}
			command := exec.Command(host, name)
			// cgocheck=1 is the default; naming it keeps the test honest should the environment say otherwise.
			// A small Go heap keeps its pacing out of the resident size.
			command.Env = append(os.Environ(), "GODEBUG=cgocheck=1", "GOGC=10")
			out, err := command.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	out, err := exec.Command(filepath.Join(filepath.Dir(host), "signals")).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// The library exports its contract and nothing else: the Go runtime's and other libraries' symbols stay its own.
func TestExportedSymbols(t *testing.T) {
	out, err := exec.Command("nm", "-D", "--defined-only", filepath.Join(filepath.Dir(host), "libdrey.so")).Output()
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(filepath.Join("..", "abi.h"))
	if err != nil {
		t.Fatal(err)
	}
	symbols := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		symbols++
		if !strings.HasPrefix(name, "drey_") || !strings.Contains(string(header), " "+name+"(") {
			t.Errorf("exports %s, which abi.h does not have", name)
		}
	}
	if symbols != 13 {
		t.Errorf("%d symbols, abi.h has 13", symbols)
	}
}
