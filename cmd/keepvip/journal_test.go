package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestJournalHasThePriorityOfEachLine(t *testing.T) {
	var b bytes.Buffer
	var level slog.LevelVar
	log := slog.New(newJournal(&b, func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, &slog.HandlerOptions{Level: &level}) }))
	log = log.With("vip", "a").WithGroup("g")
	log.Debug("no")
	log.Info("info", "k", 1)
	log.Warn("warn")
	log.Error("error")
	level.Set(slog.LevelDebug)
	log.Debug("debug")
	text := regexp.MustCompile(`time=\S+ `).ReplaceAllString(b.String(), "")
	assert.Equal(t, "<6>level=INFO msg=info vip=a g.k=1\n<4>level=WARN msg=warn vip=a\n<3>level=ERROR msg=error vip=a\n<7>level=DEBUG msg=debug vip=a\n", text)
}

func TestJournalIsKnownByItsStream(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	var s unix.Stat_t
	require.NoError(t, unix.Fstat(int(file.Fd()), &s))
	stream := fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	assert.True(t, toJournal(file, stream))
	assert.False(t, toJournal(file, stream+"1"), "a shell below a service has redirected it")
	assert.False(t, toJournal(file, ""))
	assert.False(t, toJournal(&bytes.Buffer{}, stream))
}
