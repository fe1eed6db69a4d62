package health

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// What is read of a file is what C's strtol makes of it.
func TestLeadingNumber(t *testing.T) {
	for give, want := range map[string]int{
		"": 0, "5": 5, "5\n": 5, " \t\n -7 x": -7, "+3": 3, "0x1F": 31, "0X0a": 10, "0x": 0, "0xg": 0, "010": 8, "08": 0, "-0x10": -16, "x": 0, "--1": 0, "- 1": 0, "3.9": 3,
		"1e3": 1, "99999999999999999999": 65536, "-99999999999999999999": -65536, "12\x0034": 12,
	} {
		assert.Equal(t, want, leadingNumber(give), "%q", give)
	}
}

// The number times the weight, as keepalived has it: -254 and below are FAULT, 253 is the most, and weight 0 is a condition.
func TestNumberArithmetic(t *testing.T) {
	for _, tt := range []struct {
		text    string
		weight  int
		reverse bool
		want    Outcome
		points  int
	}{
		{"0", 1, false, Pass, 0},
		{"20", 1, false, Pass, 20},
		{"20", -2, false, Pass, -40},
		{"20", 2, true, Pass, -40},
		{"-20", 2, true, Pass, 40},
		{"253", 1, false, Pass, 253},
		{"300", 1, false, Pass, 253},
		{"1", 254, false, Pass, 253},
		{"-253", 1, false, Pass, -253},
		{"-254", 1, false, Down, 0},
		{"-1", 254, false, Down, 0},
		{"1", 254, true, Down, 0},
		{"-1", 253, false, Pass, -253},
		{"99999999", 254, true, Down, 0},
		{"0", 0, false, Pass, 0},
		{"7", 0, false, Down, 0},
		{"-7", 0, false, Down, 0},
		{"0", 0, true, Down, 0},
		{"7", 0, true, Pass, 0},
		{"text", 0, false, Pass, 0},
	} {
		p := Number(config.ListedCheck{Path: "f", Weight: tt.weight, Reverse: tt.reverse}).(*numberProber)
		r := p.take(tt.text, nil)
		assert.Equal(t, []any{tt.want, tt.points}, []any{r.Outcome, r.Points}, "%+v", tt)
		assert.Contains(t, r.Reason, "f says ")
	}
}

func TestNumberFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	p := Number(config.ListedCheck{Path: path, Weight: 2, Initial: 9})
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	steps := []struct {
		name   string
		do     func()
		points int
		reason string
	}{
		{"not there yet", func() {}, 18, "is not there yet: +18"},
		{"there", func() { write("5\n") }, 10, "says 5: +10"},
		{"being written", func() { write("") }, 10, "is empty: +10"},
		{"empty", func() {}, 0, "says 0: +0"},
		{"long", func() { write("-3" + strings.Repeat("x", 4096)) }, -6, "says -3: -6"},
		{"gone", func() { require.NoError(t, os.Remove(path)) }, 0, "is not there: +0"},
	}
	for _, s := range steps {
		s.do()
		assert.Equal(t, Result{Points: s.points, Reason: path + " " + s.reason}, look(t, p), s.name)
	}
}

// What cannot be read is a failure, which moves nothing by itself; a FIFO holds nothing up.
func TestNumberFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{dir, fifo} {
		r := look(t, Number(config.ListedCheck{Path: path, Weight: 3, Initial: 2}))
		assert.Equal(t, []any{Fail, 6}, []any{r.Outcome, r.Points}, r.Reason)
	}
	r := look(t, Number(config.ListedCheck{Path: filepath.Join(fifo, "x"), Weight: 3}))
	assert.Equal(t, Pass, r.Outcome, "a directory that is none: the file is not there")
}

// Every change of the number is reported, although the state is the same.
func TestNumberIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("1"), 0o600))
	reports := runs(t, Number(config.ListedCheck{Path: path, Weight: 10}), config.ListedCheck{Interval: 5 * time.Millisecond})
	assert.Equal(t, 10, next(t, reports).Points)
	require.NoError(t, os.Rename(written(t, "7"), path))
	assert.Equal(t, 70, next(t, reports).Points)
	require.NoError(t, os.Rename(written(t, "-26"), path))
	v := next(t, reports)
	assert.Equal(t, []any{Unhealthy, 0}, []any{v.State, v.Points})
	require.NoError(t, os.Remove(path))
	assert.Equal(t, Healthy, next(t, reports).State)
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Whatever a file holds is a number between the bounds, and a number in each of C's notations is itself.
func FuzzLeadingNumber(f *testing.F) {
	f.Add("0x1F", 31)
	f.Add("\v-08", -8)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := leadingNumber(text)
		assert.LessOrEqual(t, max(got, -got), mostNumber)
		n %= mostNumber
		sign, size := "", n
		if n < 0 {
			sign, size = "-", -n
		}
		for _, notation := range []string{"%s%d", " %s%d ", "%s0%o", "%s0x%x", "%s0X%X", "\n%s%dx"} {
			assert.Equal(t, n, leadingNumber(fmt.Sprintf(notation, sign, size)), notation)
		}
	})
}
