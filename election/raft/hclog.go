package raft

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// library carries the library's log lines into log/slog. Its idea of a warning is the daily life of an election, and
// its idea of an error a peer that is down, so that all of it is Debug: what matters to an operator is logged here.
type library struct {
	log  *slog.Logger
	name string
}

var _ hclog.Logger = library{}

func (l library) Log(level hclog.Level, msg string, args ...any) {
	l.log.Log(context.Background(), slog.LevelDebug, "raft: "+msg, append(args, "level", level.String())...)
}

func (l library) Trace(string, ...any)             {}
func (l library) Debug(msg string, args ...any)    { l.Log(hclog.Debug, msg, args...) }
func (l library) Info(msg string, args ...any)     { l.Log(hclog.Info, msg, args...) }
func (l library) Warn(msg string, args ...any)     { l.Log(hclog.Warn, msg, args...) }
func (l library) Error(msg string, args ...any)    { l.Log(hclog.Error, msg, args...) }
func (l library) IsTrace() bool                    { return false }
func (l library) IsDebug() bool                    { return l.log.Enabled(context.Background(), slog.LevelDebug) }
func (l library) IsInfo() bool                     { return l.IsDebug() }
func (l library) IsWarn() bool                     { return l.IsDebug() }
func (l library) IsError() bool                    { return l.IsDebug() }
func (l library) ImpliedArgs() []any               { return nil }
func (l library) With(args ...any) hclog.Logger    { return library{l.log.With(args...), l.name} }
func (l library) Name() string                     { return l.name }
func (l library) Named(name string) hclog.Logger   { return library{l.log, name} }
func (l library) ResetNamed(n string) hclog.Logger { return library{l.log, n} }
func (l library) SetLevel(hclog.Level)             {}
func (l library) GetLevel() hclog.Level            { return hclog.Debug }

func (l library) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
func (l library) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return io.Discard }
