package history

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func full() Record {
	return Record{Number: 7, Boot: "0b5f7c1e", BootSeconds: 12.5, Transition: instance.Transition{
		At: began, Name: "apiserver", From: "backup", To: "active",
		OldHolder: election.Node{Name: "n1", Address: netip.MustParseAddr("10.77.0.11")},
		NewHolder: election.Node{Name: "n2", Address: netip.MustParseAddr("fd77::12")},
		Code:      code.HolderSilent, Reason: `"n1" is <silent>`, Cause: "silent for 387 ms", AskedBy: "uid 0 on n1", AwaySeconds: 0.387,
	}}
}

// texts are all that a record has.
func texts(r *Record) []*string {
	return []*string{&r.Boot, &r.Name, &r.From, &r.To, &r.OldHolder.Name, &r.NewHolder.Name, (*string)(&r.Code), &r.Reason, &r.Cause, &r.AskedBy}
}

func TestLineIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]Record{"full": full(), "least": {Number: 1, Transition: instance.Transition{Name: "a", From: "initialize", To: "backup"}}} {
		t.Run(name, func(t *testing.T) {
			l := encode(want)
			assert.Equal(t, 1, bytes.Count(l.text, []byte("\n")))
			got, r, ok := decode(l.text)
			require.True(t, ok)
			assert.Equal(t, l, got)
			assert.Equal(t, want, r)
		})
	}
}

func TestLineIsBoundedAndPrintable(t *testing.T) {
	r := full()
	long := strings.Repeat("\x1b[2J\"\\\xff\u202e\U0001F600", 1000)
	for _, s := range texts(&r) {
		*s = long
	}
	l := encode(r)
	assert.Less(t, len(l.text), maxLine)
	_, got, ok := decode(l.text)
	require.True(t, ok)
	assert.InDelta(t, maxText, len(got.Reason), utf8.UTFMax)
	assert.LessOrEqual(t, len(got.Reason), maxText)
	assert.True(t, utf8.ValidString(got.Reason))
	assert.NotContains(t, got.Reason, "\x1b")
	assert.NotContains(t, got.Reason, "\u202e")
}

// All lines at their longest fit into the file.
func TestFileHasRoomForTheLongestLines(t *testing.T) {
	r := full()
	for _, s := range texts(&r) {
		*s = strings.Repeat(`"`, 1000)
	}
	assert.Less(t, len(header)+maxRecords*len(encode(r).text), maxFile*3/4)
}

// sample is a file of some lines.
func sample() []byte {
	all := []line{encode(full())}
	for n := range uint64(4) {
		all = append(all, numbered(n+8, "ingress"))
	}
	return join(header, all)
}

// A kill while lines are appended leaves a beginning of them: never an error, and never a wrong record.
func TestFileThatIsTornAnywhereHasTheLinesBefore(t *testing.T) {
	whole := sample()
	all, err := parse(whole)
	require.NoError(t, err)
	require.Len(t, all.lines, 5)
	require.True(t, all.whole)
	for at := range whole {
		c, err := parse(whole[:at])
		require.NoError(t, err, "cut at %d", at)
		complete := bytes.Count(whole[:at], []byte("\n")) - 1
		require.Equal(t, all.lines[:max(complete, 0)], append([]line{}, c.lines...), "cut at %d", at)
		if at > len(header) {
			atEnd := whole[at-1] == '\n'
			require.Equal(t, atEnd, c.whole, "cut at %d", at)
		}
	}
}

// A disk that gives back something else gives no wrong record, and the other lines.
func TestFileWithAFlippedBitLacksThatLineAlone(t *testing.T) {
	whole := sample()
	all, err := parse(whole)
	require.NoError(t, err)
	for at := len(header); at < len(whole); at++ {
		bad := bytes.Clone(whole)
		bad[at] ^= 1
		c, err := parse(bad)
		require.NoError(t, err)
		require.False(t, c.whole, "bit at %d", at)
		require.GreaterOrEqual(t, len(c.lines), len(all.lines)-2, "bit at %d", at) // a line feed is the end of two
		for _, l := range c.lines {
			require.Contains(t, all.lines, l)
		}
	}
}

func TestFileOfSomebodyElseIsForeign(t *testing.T) {
	tests := map[string]struct {
		give, want string
	}{
		"empty":             {"", ""},
		"a header half way": {header[:9], ""},
		"zeros":             {strings.Repeat("\x00", 4096), ""},
		"a later format":    {"keepvip history 2\nwhatever", `version "2", want 1; run the release that wrote it, or remove the file`},
		"no version":        {"keepvip history of mine", `version "of mine"`},
		"something else":    {"root:x:0:0:root", "it is no history of keepvip's; remove it, or name another --state-dir"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := parse([]byte(tt.give))
			assert.Empty(t, c.lines)
			if tt.want == "" {
				require.NoError(t, err)
				assert.False(t, c.whole)
				return
			}
			require.ErrorIs(t, err, errForeign)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// What a later release adds to a line stays in it.
func TestLineWithMoreThanThisReleaseKnowsIsKeptAsItIs(t *testing.T) {
	text := []byte(`{"number":3,"vip":"apiserver","colour":"green"}`)
	text = append(append(append(sum(text), ' '), text...), '\n')
	c, err := parse(append([]byte(header), text...))
	require.NoError(t, err)
	require.Len(t, c.lines, 1)
	assert.Contains(t, string(c.lines[0].json()), "green")
}

func FuzzParse(f *testing.F) {
	for _, seed := range [][]byte{nil, []byte(header), sample(), sample()[:200], []byte("keepvip history 2\n"), bytes.Replace(sample(), []byte("apiserver"), []byte("apisarver"), 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parse(b)
		if err != nil {
			assert.Empty(t, c.lines)
			return
		}
		again, err := parse(join(header, c.lines))
		require.NoError(t, err)
		require.Equal(t, c.lines, again.lines)
		assert.True(t, again.whole)
		for _, l := range c.lines {
			assert.True(t, json.Valid(l.json()))
			_, r, ok := decode(l.text)
			require.True(t, ok)
			_, _, ok = decode(encode(r).text)
			assert.True(t, ok)
		}
	})
}
