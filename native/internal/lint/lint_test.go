package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../../.."
	module = "drey"
)

// layer says what a package may import, of ours and of others. Standard library packages are free to all but where a rule
// below forbids them.
type layer struct {
	match  func(dir string) bool
	ours   []string // directories, with /... for a whole tree
	others []string // prefixes of import paths
}

func dirs(list ...string) func(string) bool {
	return func(dir string) bool { return matches(dir, list) }
}

func matches(dir string, list []string) bool {
	for _, pattern := range list {
		if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
			if dir == tree || strings.HasPrefix(dir, tree+"/") {
				return true
			}
		} else if dir == pattern {
			return true
		}
	}
	return false
}

var (
	// The words all operators share.
	base     = []string{"native/changelog", "native/expr", "native/keygroup", "native/binrow", "native/logical"}
	contract = []string{"native/op", "native/spec"}
	// What operators have in common and is not part of their contract.
	shared = []string{"native/javamap", "native/snapshot"}
	// Helpers of tests: they may import anything below native, and only test files may import them.
	testOnly = []string{"native/optest/...", "cgo/abitest/..."}
)

// layers is tried in order; the first match counts. A package that matches none of them but lies below native is an
// operator: it sees the base, the contract and the state engine, and never another operator.
var layers = []layer{
	{match: dirs("simd/..."), ours: []string{"simd/..."}, others: []string{"golang.org/x/sys/cpu", "github.com/klauspost/cpuid/"}},
	{match: dirs("rowstate/..."), ours: []string{"simd", "rowstate/..."},
		others: []string{"golang.org/x/sys/unix", "github.com/apache/arrow-go/"}},
	{match: dirs(base...), ours: append([]string{"rowstate/..."}, base...), others: []string{"github.com/apache/arrow-go/"}},
	{match: dirs(contract...), ours: append([]string{"rowstate"}, base...)},
	{match: dirs(shared...), ours: append(append([]string{"rowstate"}, base...), contract...)},
	{match: dirs("native"), ours: []string{"native/...", "rowstate/..."}},
	{match: dirs(testOnly...), ours: []string{"native/...", "rowstate/...", "simd", "cgo/..."},
		others: []string{"github.com/apache/arrow-go/"}},
	{match: dirs("cgo/..."), ours: []string{"native/...", "rowstate/...", "cgo/..."},
		others: []string{"github.com/apache/arrow-go/", "golang.org/x/sys/unix"}},
	{match: dirs("native/..."), ours: slices.Concat([]string{"rowstate/..."}, base, contract, shared)},
}

// source is one parsed Go file of ours, whatever its build tags.
type source struct {
	path      string // relative to the root, with slashes
	dir       string
	test      bool
	generated bool
	text      []byte
	file      *ast.File
}

var fset = token.NewFileSet()

// sources parses every Go file of the module; nested modules, testdata and hidden folders are left out.
func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	walk(t, func(p string) {
		if !strings.HasSuffix(p, ".go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
			generated: ast.IsGenerated(file), text: text, file: file})
	})
	if len(list) < 3 {
		t.Fatalf("only %d Go files found below %s: looking in the wrong place", len(list), root)
	}
	return list
}

func walk(t *testing.T, visit func(p string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if rel == "." {
				return nil
			}
			if strings.HasPrefix(name, ".") || name == "testdata" || name == "target" || name == "build" || name == "out" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		visit(filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if problem := checkImport(s.dir, s.test, imported); problem != "" {
				t.Errorf("%s: %s", fset.Position(spec.Pos()), problem)
			}
		}
	}
}

// checkImport says what is wrong with an import, "" when nothing is.
func checkImport(dir string, test bool, imported string) string {
	switch imported {
	case "C":
		if !matches(dir, []string{"cgo/..."}) {
			return `import "C" outside of cgo: cross the boundary there`
		}
		return ""
	case "unsafe":
		if !test && !matches(dir, []string{"cgo/...", "rowstate/...", "simd/..."}) {
			return "import unsafe: only rowstate, simd and cgo deal in raw memory; read rows through native/binrow"
		}
		return ""
	case "math/rand":
		return "import math/rand: use math/rand/v2 with a seeded source"
	}
	if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") && imported != module && !strings.HasPrefix(imported, module+"/") {
		return "" // standard library
	}
	if test {
		return "" // tests may reach for helpers, reference implementations and other layers
	}
	l, ok := layerOf(dir)
	if !ok {
		return "package " + dir + " is in no layer of the import table: add it there"
	}
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		if matches(ours, testOnly) && !matches(dir, testOnly) {
			return ours + " is for test files only"
		}
		if !matches(ours, l.ours) {
			return dir + " must not import " + ours + ": see the import table in this test"
		}
		return ""
	}
	for _, prefix := range l.others {
		if strings.HasPrefix(imported, prefix) {
			return ""
		}
	}
	return dir + " must not import " + imported + ": a new dependency is argued for in the import table"
}

func layerOf(dir string) (layer, bool) {
	for _, l := range layers {
		if l.match(dir) {
			return l, true
		}
	}
	return layer{}, false
}

// The table itself: each direction that must hold, tried both ways.
func TestImportTable(t *testing.T) {
	for _, c := range []struct {
		dir, imported string
		test, ok      bool
	}{
		{"simd", "drey/rowstate", false, false},
		{"rowstate", "drey/simd", false, true},
		{"rowstate", "drey/native/changelog", false, false},
		{"native/changelog", "drey/rowstate", false, true},
		{"native/dedup", "drey/native/op", false, true},
		{"native/dedup", "drey/native/topn", false, false},
		{"native/dedup", "drey/native/snapshot", false, true},
		{"native/snapshot", "drey/native/dedup", false, false},
		{"native/dedup", "drey/simd", false, false},
		{"native/dedup", "drey/native/optest", false, false},
		{"native/dedup", "drey/native/optest", true, true},
		{"native/op", "drey/native/dedup", false, false},
		{"native", "drey/native/dedup", false, true},
		{"native/dedup", "drey/native", false, false},
		{"cgo", "drey/native", false, true},
		{"cgo", "C", false, true},
		{"native/dedup", "C", false, false},
		{"native/dedup", "C", true, false},
		{"native/dedup", "unsafe", false, false},
		{"native/dedup", "example.org/x", false, false},
		{"simd", "github.com/apache/arrow-go/v18/arrow", false, false},
		{"elsewhere", "drey/simd", false, false},
	} {
		if got := checkImport(c.dir, c.test, c.imported); (got == "") != c.ok {
			t.Errorf("%s importing %s (test %v): got %q, want ok = %v", c.dir, c.imported, c.test, got, c.ok)
		}
	}
}

// calls that are forbidden, with the reason and what to do instead.
func checkCall(s source, pkg, name string) string {
	inEngine := matches(s.dir, []string{"native/...", "rowstate/...", "simd/..."})
	switch {
	case pkg == "" && name == "recover":
		if !s.test && s.path != "cgo/guard.go" {
			return "recover: only cgo/guard.go catches panics, everything else lets them pass"
		}
	case pkg == "runtime" && (name == "SetFinalizer" || name == "AddCleanup"):
		return "runtime." + name + ": memory is freed by Close, on the caller's thread"
	case pkg == "time" && inEngine && !s.test:
		switch name {
		case "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep":
			return "time." + name + ": the host passes the time in, the engine has no clock"
		}
	case pkg == "rand" && inEngine && !strings.HasPrefix(name, "New"):
		switch name {
		case "Rand", "PCG", "ChaCha8", "Zipf", "Source":
		default:
			return "rand." + name + ": use a source seeded by the test, rand.New(rand.NewPCG(seed, …))"
		}
	}
	return ""
}

func TestForbiddenCalls(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			problem := ""
			switch n := n.(type) {
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok {
					problem = checkCall(s, "", id.Name)
				}
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && importsAs(s.file, id.Name) {
					problem = checkCall(s, id.Name, n.Sel.Name)
				}
			}
			if problem != "" {
				t.Errorf("%s: %s", fset.Position(n.Pos()), problem)
			}
			return true
		})
	}
}

// importsAs tells a package name from a variable of the same name.
func importsAs(file *ast.File, name string) bool {
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		as := path.Base(p)
		if as == "v2" {
			as = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if as == name {
			return true
		}
	}
	return false
}

const (
	maxLines     = 500
	maxTestLines = 800
)

func TestFileSize(t *testing.T) {
	for _, s := range sources(t) {
		limit := maxLines
		if s.test {
			limit = maxTestLines
		}
		if n := bytes.Count(s.text, []byte("\n")); n > limit && !s.generated {
			t.Errorf("%s has %d lines, more than %d: split it by idea", s.path, n, limit)
		}
	}
}

// Every package says what it is for.
func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			documented[s.dir] = documented[s.dir] || s.file.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

var (
	openWork   = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	nativeDecl = regexp.MustCompile(`(?m)^\s+(?:\w+\s+)*native\s+[\w\[\]<>]+\s+\w+\(`)
)

// Rules about text of any language.
func TestText(t *testing.T) {
	self := "native/internal/lint/"
	walk(t, func(p string) {
		switch path.Ext(p) {
		case ".go", ".java", ".c", ".h", ".s", ".sh", ".mk", ".md", ".sql", ".xml":
		default:
			return
		}
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if loc := openWork.FindIndex(text); loc != nil && !strings.HasPrefix(p, self) {
			t.Errorf("%s:%d: %s: finish it or file it, source text carries no open work", p, line(text, loc[0]), text[loc[0]:loc[1]])
		}
		if strings.HasPrefix(p, "cgo/") && path.Base(p) != "jni.c" && bytes.Contains(text, []byte("jni.h>")) {
			t.Errorf("%s includes jni.h: only cgo/jni.c knows the JVM", p)
		}
		if path.Ext(p) == ".java" {
			checkJava(t, p, text)
		}
	})
}

// The directions between the Java packages, and the width of the waist.
func checkJava(t *testing.T, p string, text []byte) {
	forbid := map[string][]string{
		"/main/java/drey/jni/":  {"org.apache.flink", "drey.batch", "drey.runtime", "drey.spec", "drey.plan"},
		"/main/java/drey/spec/": {"drey.batch", "drey.runtime", "drey.plan", "drey.jni"},
	}
	for part, packages := range forbid {
		if !strings.Contains(p, part) {
			continue
		}
		for _, name := range packages {
			for _, form := range []string{"import ", "import static "} {
				if i := bytes.Index(text, []byte(form+name+".")); i >= 0 {
					t.Errorf("%s:%d: must not import %s", p, line(text, i), name)
				}
			}
		}
	}
	if !strings.Contains(p, "/main/java/") {
		return
	}
	natives := nativeDecl.FindAllIndex(text, -1)
	if len(natives) > 0 && path.Base(p) != "NativeOperator.java" {
		t.Errorf("%s:%d: native methods are declared in NativeOperator alone", p, line(text, natives[0][0]))
	}
	if len(natives) > 12 {
		t.Errorf("%s: %d native methods, more than 12: a new operator needs a translator, never a native method", p, len(natives))
	}
}

func line(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

func TestVet(t *testing.T) {
	for _, tags := range []string{"", "invariants", "purego"} {
		t.Run("tags="+tags, func(t *testing.T) { run(t, root, "go", "vet", "-tags="+tags, "./...") })
	}
}

func TestStaticcheck(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a tool")
	}
	bin := filepath.Join(t.TempDir(), "staticcheck")
	run(t, filepath.Join(root, ".ci/tools"), "go", "build", "-o", bin, "honnef.co/go/tools/cmd/staticcheck")
	run(t, root, bin, "./...")
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
