package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// Exit codes of `keepalived --config-test`, as version 2.2.7 has them. Its manual page counts otherwise.
const (
	testGood     = 0
	testNoValue  = 2 // a keyword without its value: keepalived does not start
	testRefused  = 3 // keepalived would run it, and keepvip does not
	testNoFile   = 4 // there is no file, with --all-config
	testErrors   = 5
	testSecurity = 6 // scripts that are there, without enable_script_security
	testMissing  = 6 // an included file is missing, with --all-config
)

// test checks the file as keepalived and as keepvip would take it, and says what is found.
func (k keepalivedLine) test(cmd *cobra.Command) error {
	out := cmd.ErrOrStderr()
	if path := k.value("config-test"); path != stderrValue {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return failed(fmt.Errorf("--config-test: %w", err))
		}
		defer f.Close()
		out = f
	}
	lines, code := k.conf().test()
	if _, err := io.WriteString(out, shown(lines)); err != nil {
		return failed(err)
	}
	if code != testGood {
		return codedError{error: errors.New(verdictOfTest(code)), code: code}
	}
	return nil
}

// verdictOfTest says what an exit code is about. With some of them no line is an error.
func verdictOfTest(code int) string {
	switch code {
	case testNoValue:
		return "a keyword has no value: keepalived does not start"
	case testRefused:
		return "keepvip does not run this file"
	case testNoFile:
		return "there is no file"
	case testSecurity: // testMissing is the same
		return "scripts run without enable_script_security, or with --all-config an included file is missing: keepalived -t fails, too"
	}
	return "the configuration has errors"
}

// test is what there is to say of the file, one line each, and keepalived's exit code for it.
func (k *keepalivedConf) test() (lines string, code int) {
	path := cmp.Or(k.path, os.Getenv(config.EnvConf))
	doc, err := syntax.Read(path, syntax.Options{ID: cmp.Or(k.id, hostID()), Files: syntax.Disk{Pipe: path}})
	if err != nil {
		code = testRefused
		if k.all {
			code = testNoFile
		}
		return unreadable(path, err, aKeepalivedConf).Error() + "\n", code
	}
	model := keepalived.Model(doc)
	findings := lint.Lint(model)
	code = codeOf(findings, slices.ContainsFunc(lint.Programs(model), isProgram), k.all)
	var b strings.Builder
	findingLines(&b, slices.DeleteFunc(slices.Clone(findings), func(f keepalived.Finding) bool { return f.Severity == keepalived.Note }))
	for _, f := range convert.Convert(doc, onThisHost(k.options)).Findings {
		if line := findingLine(f); f.Severity == keepalived.Fault && !strings.Contains(b.String(), line) {
			b.WriteString(line + "\n")
			code = cmp.Or(code, testRefused)
		}
	}
	if code == testRefused {
		return b.String(), code
	}
	more, here := k.here()
	for _, line := range more {
		if !strings.Contains(b.String(), line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String(), cmp.Or(code, here)
}

// isProgram says whether there is such a program on this host: keepalived counts no other script.
func isProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// codeOf is keepalived's exit code for what is found in the text.
func codeOf(findings []keepalived.Finding, scripts, all bool) int {
	code := testGood
	for _, f := range findings {
		switch {
		case f.Fatal:
			return testNoValue
		case scripts && f.Code == "script-security":
			code = testSecurity
		case all && f.Code == syntax.CodeInclude:
			code = testMissing
		case f.Severity == keepalived.Fault && code == testGood:
			code = testErrors
		}
	}
	return code
}

// here is what this host lacks for the file: programs, users, interfaces and directories.
func (k *keepalivedConf) here() (lines []string, code int) {
	cfg, err := config.Load(config.Input{Conf: k.path, Convert: k.read, Env: os.Environ()})
	if err != nil {
		return strings.Split(err.Error(), "\n"), testErrors
	}
	for i, v := range cfg.VIPs {
		if v.Interface != "" && !config.HasInterface(v.Interface) {
			lines = append(lines, fmt.Sprintf("%v: there is no interface %s here", cfg.Origin(fmt.Sprintf("vips[%d].interface", i)), v.Interface))
			code = testErrors
		}
		for j, c := range v.Checks {
			if dir := filepath.Dir(c.Path); c.Number && !hasDirectory(dir) { // keepalived -t says it, and ends well
				lines = append(lines, fmt.Sprintf("%v: there is no directory %s here: keepalived drops the track_file when it starts", cfg.Origin(fmt.Sprintf("vips[%d].checks[%d].path", i, j)), dir))
			}
		}
	}
	return lines, code
}
