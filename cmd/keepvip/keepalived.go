package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// stderrValue is the value of --config-test without one.
const stderrValue = "-"

func newKeepalived() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keepalived",
		Short: "Run as keepalived's command line says: for images and units that start keepalived",
		Long: "Takes the command line of keepalived 2.2.7, and runs the keepalived.conf as `keepvip run --keepalived-conf` does. Each option is\n" +
			"honoured, needless, ignored (one line of the log says so), or refused with the reason. Under the name keepalived, such as by a\n" +
			"symbolic link, keepvip is this command. What keepvip has besides is said by variables, such as KEEPVIP_METRICS.\n\n" +
			"SIGHUP reads the file again, SIGTERM and SIGINT end it; SIGUSR1, SIGUSR2 and SIGRTMIN+2 write keepalived.data, keepalived.stats and\n" +
			"keepalived.json into /tmp, or into KEEPVIP_KEEPALIVED_FILES; SIGRTMAX-1 clears the counters, too. It stays in the foreground, and wants --dont-fork therefore.\n\n" +
			"Exit codes: 0 ended as asked, 1 failed, or a wrong command line, 2 the configuration is refused. With --config-test those of keepalived:\n" +
			"0 good, 2 a keyword without its value, 4 no file with --all-config, 5 errors, 6 scripts without enable_script_security, or an included\n" +
			"file is missing with --all-config; and 3 where keepalived would run the file, and keepvip does not.",
		Example: "  keepvip keepalived --dont-fork --log-console --use-file /etc/keepalived/keepalived.conf\n  keepvip keepalived -t -f /etc/keepalived/keepalived.conf",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failed(fmt.Errorf("%s takes no argument, but %q is given, want --use-file %s if that is the configuration", cmd.CommandPath(), args[0], args[0]))
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return failed(flagError(cmd, err)) })
	k := bindKeepalived(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return k.run(cmd) }
	return cmd
}

// keepalivedLine is a command line of keepalived.
type keepalivedLine struct {
	given func(name string) bool
	value func(name string) string
}

func bindKeepalived(cmd *cobra.Command) keepalivedLine {
	fs := cmd.Flags()
	fs.SortFlags = false
	for _, o := range keepalivedOptions {
		help := o.text
		if o.does != honoured {
			help = string(o.does) + ": " + o.text
		}
		if o.value == "" {
			fs.BoolP(o.long, o.short, false, help)
			continue
		}
		name, optional := strings.CutPrefix(o.value, "[")
		flag := fs.VarPF(&namedValue{name: strings.TrimSuffix(name, "]")}, o.long, o.short, help)
		if optional {
			flag.NoOptDefVal = stderrValue
		}
	}
	return keepalivedLine{given: fs.Changed, value: func(name string) string { return fs.Lookup(name).Value.String() }}
}

// namedValue is a text whose name the help shows.
type namedValue struct{ name, text string }

func (v *namedValue) String() string     { return v.text }
func (v *namedValue) Type() string       { return v.name }
func (v *namedValue) Set(s string) error { v.text = s; return nil }

func (k keepalivedLine) run(cmd *cobra.Command) error {
	switch {
	case k.given("version"):
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "Keepalived v2.2.7: its command line and its file, by %s\n", versionText())
		return failed(err)
	case k.given("signum"):
		return failed(k.signal(cmd.OutOrStdout()))
	}
	for _, o := range keepalivedOptions {
		if o.does == refused && k.given(o.long) {
			return failed(fmt.Errorf("--%s: %s", o.long, o.text))
		}
	}
	if k.given("config-test") {
		return k.test(cmd)
	}
	if !k.given("dont-fork") {
		return failed(errors.New("keepvip stays in the foreground, want --dont-fork (-n), and whoever starts it to keep it running"))
	}
	return k.serve(cmd)
}

// signal prints the number of a signal.
func (k keepalivedLine) signal(w io.Writer) error {
	numbers := map[string]unix.Signal{"STOP": unix.SIGTERM, "RELOAD": unix.SIGHUP, "DATA": unix.SIGUSR1, "STATS": unix.SIGUSR2, "JSON": daemon.SignalJSON, "STATS_CLEAR": daemon.SignalStatsClear}
	n, ok := numbers[k.value("signum")]
	if !ok {
		return fmt.Errorf("--signum %q, want STOP, RELOAD, DATA, STATS, STATS_CLEAR or JSON: keepvip has no other signals", k.value("signum"))
	}
	_, err := fmt.Fprintln(w, int(n))
	return err
}

// conf is the configuration as keepvip reads it, from the file and from variables.
func (k keepalivedLine) conf() *keepalivedConf {
	c := &keepalivedConf{path: k.value("use-file"), id: k.value("config-id"), all: k.given("all-config")}
	c.options.InMemory = true
	if c.path == "" && os.Getenv(config.EnvConf) == "" {
		c.path = keepalivedFile
	}
	return c
}

func (k keepalivedLine) serve(cmd *cobra.Command) error {
	conf := k.conf()
	load := func() (*config.Config, error) {
		cfg, err := config.Load(config.Input{Conf: conf.path, Convert: conf.read, Env: os.Environ()})
		if err == nil && cfg.KeepalivedFiles == "" {
			cfg.KeepalivedFiles = keepalivedTmp
		}
		return cfg, err
	}
	cfg, err := load()
	if err != nil {
		return err
	}
	pids, err := openPIDFiles(k.pidFiles())
	if err != nil {
		return failed(err)
	}
	defer pids.remove()
	out, err := k.logTo(cmd.ErrOrStderr())
	if err != nil {
		return failed(err)
	}
	defer out.Close()
	log, level := newLogger(out, cfg.Log)
	k.say(log, cfg, pids)
	return runDaemon(cmd.Context(), cfg, daemon.Options{Load: load, Version: programVersion(), Log: log, LogLevel: level}, pids.write)
}

// say logs what of the command line counts for nothing, and the configuration where it is asked for.
func (k keepalivedLine) say(log *slog.Logger, cfg *config.Config, pids *pidFiles) {
	for _, o := range keepalivedOptions {
		if o.does == ignored && k.given(o.long) {
			log.Warn("an option of keepalived is ignored", "option", "--"+o.long, "reason", o.text)
		}
	}
	for _, err := range pids.missing {
		log.Warn("a file of the process id is not written", "error", err)
	}
	if k.given("dump-conf") {
		for _, v := range cfg.Values() {
			log.Info("configuration", "key", v.Key, "value", v.Text, "from", v.Origin)
		}
	}
}

// pidFiles are those to write. Where an option names one it has to be written.
func (k keepalivedLine) pidFiles() []pidFile {
	of := func(option, otherwise string) pidFile {
		return pidFile{path: cmp.Or(k.value(option), otherwise), needed: k.given(option)}
	}
	return []pidFile{of("pid", keepalivedPID), of("vrrp_pid", keepalivedVRRPPID)}
}

// logTo is where the log goes.
func (k keepalivedLine) logTo(stderr io.Writer) (io.WriteCloser, error) {
	path := k.value("log-file")
	if path == "" {
		return logWriter{stderr, nil}, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--log-file: %w", err)
	}
	if k.given("no-syslog") && !k.given("log-console") {
		return f, nil
	}
	return logWriter{io.MultiWriter(stderr, f), f}, nil
}

// logWriter writes the log, and closes its file if there is one.
type logWriter struct {
	io.Writer
	file io.Closer
}

func (w logWriter) Close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
