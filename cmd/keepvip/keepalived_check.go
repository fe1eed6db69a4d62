package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
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
	doc, err := syntax.Read(path, cmp.Or(k.id, hostID()), syntax.Disk{Pipe: path})
	if err != nil {
		code = testRefused
		if k.all {
			code = testNoFile
		}
		return unreadable(path, err, aKeepalivedConf).Error() + "\n", code
	}
	model := keepalived.Model(doc)
	findings := lint.Lint(model)
	dropped, left := k.scripts(model)
	code = codeOf(findings, left, k.all)
	var b strings.Builder
	findingLines(&b, slices.DeleteFunc(slices.Clone(findings), func(f keepalived.Finding) bool {
		return f.Severity == keepalived.Note && f.Code != keepalived.CodeEmpty
	}))
	for _, f := range convert.Convert(doc, onThisHost(k.options)).Findings {
		if line := findingLine(f); f.Severity == keepalived.Fault && !strings.Contains(b.String(), line) {
			b.WriteString(line + "\n")
			code = cmp.Or(code, testRefused)
		}
	}
	if code == testRefused {
		return b.String(), code
	}
	missing, wrong, absent := k.here()
	for _, line := range slices.Concat(dropped, missing) {
		if !strings.Contains(b.String(), line) {
			b.WriteString(line + "\n")
		}
	}
	switch {
	case absent: // keepalived ends before it looks at scripts
		code = testErrors
	case wrong || len(dropped) > 0:
		code = cmp.Or(code, testErrors)
	}
	return b.String(), code
}

// isProgram says whether there is such a program on this host, whoever may run it.
func isProgram(name string) bool {
	if strings.Contains(name, "/") {
		return config.Absent(name) == nil
	}
	return findProgram(name) != ""
}

// scripts says which scripts keepalived -t complains of because it drops them on this host, and whether any is left. It complains of checks,
// tracked or not, and of a notify script without a user.
func (k *keepalivedConf) scripts(model *keepalived.Config) (dropped []string, left bool) {
	host := onThisHost(k.options).Host
	say := func(at syntax.Origin, text, remedy string) {
		dropped = append(dropped, findingLine(keepalived.Finding{Severity: keepalived.Fault, Code: "script-dropped", Origin: at, Text: text, Remedy: remedy}))
	}
	if u := model.Global.ScriptUser; u.Name != "" && !host.HasUser(u.Spelled()) {
		say(model.Global.Where("script_user"), "script_user: there is no user "+u.Spelled()+" here", "make the user, or write another one")
	}
	for _, s := range lint.Scripts(model) {
		_, word := model.Runner(s.User)
		switch why, remedy := host.Dropped(model, s.User, s.Args[0]); {
		case why != "" && (s.Check || word == ""):
			say(s.At, s.Name+" is dropped: "+why, remedy)
		case why != "":
		case isProgram(s.Args[0]):
			left = true
		case s.Check && !s.Shell:
			say(s.At, s.Name+" is dropped: there is no program "+s.Args[0]+" here", "write the path of one that is there")
		}
	}
	return dropped, left
}

// codeOf is keepalived's exit code for what is found in the text, with scripts that are left.
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
		case (f.Severity == keepalived.Fault || f.Code == keepalived.CodeEmpty) && code == testGood:
			code = testErrors
		}
	}
	return code
}

// here is what this host lacks for the file: programs, users, interfaces and directories. wrong says that keepvip would not start, absent
// that an interface is not there.
func (k *keepalivedConf) here() (lines []string, wrong, absent bool) {
	cfg, err := config.Load(config.Input{Conf: k.path, Convert: k.read, Env: os.Environ()})
	if err != nil {
		return strings.Split(err.Error(), "\n"), true, false
	}
	for i, v := range cfg.VIPs {
		if v.Interface != "" && !config.HasInterface(v.Interface) {
			lines = append(lines, fmt.Sprintf("%v: there is no interface %s here", cfg.Origin(fmt.Sprintf("vips[%d].interface", i)), v.Interface))
			absent = true
		}
		for j, c := range v.Checks {
			if dir := filepath.Dir(c.Path); c.Number && !hasDirectory(dir) { // keepalived -t says it, and ends well
				lines = append(lines, fmt.Sprintf("%v: there is no directory %s here: keepalived drops the track_file when it starts", cfg.Origin(fmt.Sprintf("vips[%d].checks[%d].path", i, j)), dir))
			}
		}
	}
	return lines, false, absent
}
