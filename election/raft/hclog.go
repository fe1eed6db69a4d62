package raft

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// library carries the library's log lines into log/slog. Its idea of a warning is the daily life of an election, and
// its idea of an error a peer that is down, so that all of it is Debug: what matters to an operator is logged here.
type library struct {
	hclog.Logger // what is left out here does nothing
	log          *slog.Logger
}

func newLibrary(log *slog.Logger) library { return library{Logger: hclog.NewNullLogger(), log: log} }

func (l library) Log(level hclog.Level, msg string, args ...any) {
	l.log.Log(context.Background(), slog.LevelDebug, "raft: "+msg, append(args, "level", level.String())...)
}

func (l library) Debug(msg string, args ...any)  { l.Log(hclog.Debug, msg, args...) }
func (l library) Info(msg string, args ...any)   { l.Log(hclog.Info, msg, args...) }
func (l library) Warn(msg string, args ...any)   { l.Log(hclog.Warn, msg, args...) }
func (l library) Error(msg string, args ...any)  { l.Log(hclog.Error, msg, args...) }
func (l library) IsDebug() bool                  { return l.log.Enabled(context.Background(), slog.LevelDebug) }
func (l library) IsInfo() bool                   { return l.IsDebug() }
func (l library) IsWarn() bool                   { return l.IsDebug() }
func (l library) IsError() bool                  { return l.IsDebug() }
func (l library) With(args ...any) hclog.Logger  { return newLibrary(l.log.With(args...)) }
func (l library) Named(string) hclog.Logger      { return l }
func (l library) ResetNamed(string) hclog.Logger { return l }
