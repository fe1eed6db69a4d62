package main

import (
	"io"
	"log/slog"

	"github.com/keepvip/keepvip/internal/config"
)

func newLogger(w io.Writer, c config.Log) *slog.Logger {
	levels := map[config.LogLevel]slog.Level{
		config.LogDebug: slog.LevelDebug, config.LogInfo: slog.LevelInfo,
		config.LogWarn: slog.LevelWarn, config.LogError: slog.LevelError,
	}
	opts := &slog.HandlerOptions{Level: levels[c.Level]}
	if c.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
