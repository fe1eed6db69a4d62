package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	junkInputs = flag.Int("junk", 44, "how many junk inputs the built program is given")
	junkSeed   = flag.Uint64("junk-seed", 1, "of the junk inputs; 0 draws one")
	junkTime   = flag.Duration("junk-time", 0, "how much processor time the program may take for one; 0 bounds nothing")
)

// junkMemory is the most that the program may have resident for one junk input, in bytes.
const junkMemory = 64 << 20

// junkRun is one run of the built program.
type junkRun struct {
	Name, File string
	Text       []byte
	Args       []string
	Code       int
	Out, Errs  string
	Resident   int64         // bytes, at most
	Took       time.Duration // of a processor
}

// junkRunsEnv has the file of the runs, for the process that makes them: ru_maxrss of a program is never less than what the process had that started it.
const junkRunsEnv = "KEEPVIP_JUNK_RUNS"

// The built program answers to junk by one error with the file, within its memory, and never by a panic. `make fuzz` bounds the time, too.
func TestJunkCostsTheBuiltProgramLittle(t *testing.T) {
	if path := os.Getenv(junkRunsEnv); path != "" {
		makeJunkRuns(t, path)
		return
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "keepvip")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	seed := *junkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 0))
	files := junkFiles(t)
	names := slices.Sorted(maps.Keys(files))
	var runs []junkRun
	for i := range *junkInputs {
		name := names[i%len(names)]
		run := junkRun{Name: name, File: filepath.Join(dir, files[name].file), Text: []byte(junk(r, files[name].good))}
		run.Args = append([]string{program}, files[name].command(run.File)...)
		runs = append(runs, run)
	}
	path := filepath.Join(dir, "runs.json")
	writeJSON(t, path, runs)
	maker := exec.Command(os.Args[0], "-test.run=^TestJunkCostsTheBuiltProgramLittle$")
	maker.Env = append(os.Environ(), junkRunsEnv+"="+path)
	out, err = maker.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &runs))

	most, refused := junkRun{}, 0
	var longest time.Duration
	for _, run := range runs {
		if files[run.Name].judged(t, string(run.Text), run.File, run.Code, run.Out, run.Errs) {
			refused++
		}
		assert.NotContains(t, run.Errs, "goroutine ", "%s: %.300q", run.Name, run.Text)
		if run.Resident > most.Resident {
			most = run
		}
		longest = max(longest, run.Took)
		if *junkTime > 0 {
			assert.Less(t, run.Took, *junkTime, "%s: %.300q", run.Name, run.Text)
		}
	}
	t.Logf("seed %d: %d of %d inputs refused; %.1f MiB resident at most (%s), %v of a processor at most", seed, refused, len(runs), float64(most.Resident)/(1<<20), most.Name, longest)
	assert.Less(t, most.Resident, int64(junkMemory), "%s: %.300q", most.Name, most.Text)
	assert.Greater(t, refused, len(runs)/3)
}

// makeJunkRuns makes the runs of a file, and writes there how they ended.
func makeJunkRuns(t *testing.T, path string) {
	var runs []junkRun
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &runs))
	for i := range runs {
		r := &runs[i]
		require.NoError(t, os.WriteFile(r.File, r.Text, 0o600))
		var out, errs bytes.Buffer
		cmd := exec.Command(r.Args[0], r.Args[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &errs, strings.NewReader("")
		_ = cmd.Run() // its exit status is looked at
		r.Code, r.Out, r.Errs = cmd.ProcessState.ExitCode(), out.String(), errs.String()
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		require.True(t, ok)
		r.Resident, r.Took = usage.Maxrss<<10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	}
	writeJSON(t, path, runs)
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}
