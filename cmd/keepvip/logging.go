package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/keepvip/keepvip/internal/config"
)

// newLogger makes the log of a process, and what changes the least severe level that is written. To the journal each line has its priority.
func newLogger(w io.Writer, c config.Log) (*slog.Logger, func(config.LogLevel)) {
	level := &slog.LevelVar{}
	set := func(l config.LogLevel) { level.Set(levelOf(l)) }
	set(c.Level)
	form := func(w io.Writer) slog.Handler {
		opts := &slog.HandlerOptions{Level: level}
		if c.Format == config.LogJSON {
			return slog.NewJSONHandler(w, opts)
		}
		return slog.NewTextHandler(w, opts)
	}
	if toJournal(w, os.Getenv("JOURNAL_STREAM")) {
		return slog.New(newJournal(w, form)), set
	}
	return slog.New(form(w)), set
}

func levelOf(l config.LogLevel) slog.Level {
	return map[config.LogLevel]slog.Level{
		config.LogDebug: slog.LevelDebug, config.LogInfo: slog.LevelInfo,
		config.LogWarn: slog.LevelWarn, config.LogError: slog.LevelError,
	}[l]
}
