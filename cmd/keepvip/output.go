package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// apiVersion is that of every object that a command prints with --output json. Within it keys are added; none is removed, renamed or given
// another meaning.
const apiVersion = "keepvip/v1"

// kind says what an object is. Each has its schema in docs/schema.
type kind string

// The kinds, with the commands that print them.
const (
	kindStatus      kind = "Status"      // status
	kindExplanation kind = "Explanation" // explain
	kindCodes       kind = "Codes"       // explain, of codes
	kindHistory     kind = "History"     // history
	kindReload      kind = "Reload"      // reload
	kindMembers     kind = "Members"     // member list
	kindVersion     kind = "Version"     // version
	kindFingerprint kind = "Fingerprint" // key fingerprint
	kindLint        kind = "Lint"        // lint
	kindConversion  kind = "Conversion"  // convert
	kindDoctor      kind = "Doctor"      // doctor
	kindDrill       kind = "Drill"       // drill
	kindCleanup     kind = "Cleanup"     // cleanup
	kindSpread      kind = "Spread"      // spread
	kindEndpoints   kind = "Endpoints"   // endpoint
	kindFollower    kind = "Follower"    // status, on a host that follows

	kindConfirmation  kind = "Confirmation"         // handover, drain, hold, resume, announce, log-level, and member add, remove, recover
	kindConfiguration kind = "Configuration"        // config show
	kindValidation    kind = "Validation"           // config validate
	kindChecks        kind = "Checks"               // check --once
	kindRunning       kind = "RunningConfiguration" // config show --running
	kindNoStatus      kind = "NoStatus"             // status --watch, while no keepvip answers
)

// printObject prints doc, which is encoded as a JSON object, with its apiVersion and kind in front of its own keys. In a key a number
// of seconds ends in Seconds; a time is RFC 3339 in UTC.
func printObject(w io.Writer, k kind, doc any) error {
	text, err := object(k, doc)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return fmt.Errorf("encode a %s: %w", k, err)
	}
	return writeLine(w, b.Bytes())
}

// printObjectLine is printObject in one line, for a command that prints one object after another.
func printObjectLine(w io.Writer, k kind, doc any) error {
	text, err := object(k, doc)
	if err != nil {
		return err
	}
	return writeLine(w, text)
}

func writeLine(w io.Writer, text []byte) error {
	_, err := w.Write(append(text, '\n'))
	return err
}

// object puts apiVersion and kind in front of the keys of doc. Keys that this program does not know stay, where doc is raw.
func object(k kind, doc any) ([]byte, error) {
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", k, err)
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("encode a %s: %w", k, errors.New("it is no object"))
	}
	body = escaped(inUTC(body))
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, apiVersion, k)
	if string(body) != "{}" {
		head += ","
	}
	return append([]byte(head), body[1:]...), nil
}

// inUTC puts the times of a JSON text, each a string of its own, in UTC: a daemon says them in the zone of its host.
func inUTC(text []byte) []byte {
	const layout = `"` + time.RFC3339Nano + `"`
	out := make([]byte, 0, len(text))
	for {
		begin := bytes.IndexByte(text, '"')
		if begin < 0 {
			return append(out, text...)
		}
		end := begin + 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end++
		out = append(out, text[:begin]...)
		if at, err := time.Parse(layout, string(text[begin:end])); err == nil {
			out = at.UTC().AppendFormat(out, layout)
		} else {
			out = append(out, text[begin:end]...)
		}
		text = text[end:]
	}
}

// outputFlag is the value of --output.
type outputFlag string

const (
	outputText outputFlag = "text"
	outputJSON outputFlag = "json"
)

// bindOutput gives cmd -o, --output.
func bindOutput(cmd *cobra.Command) *outputFlag {
	f := outputText
	cmd.Flags().VarP(&f, "output", "o", "text or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return &f
}

// Set implements pflag.Value.
func (f *outputFlag) Set(s string) error {
	switch v := outputFlag(s); v {
	case outputText, outputJSON:
		*f = v
		return nil
	}
	return errors.New("want text or json")
}

// String implements pflag.Value.
func (f *outputFlag) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *outputFlag) Type() string { return "string" }

// print prints doc as an object, or what text makes of it for a person, as the flag says. The error is one of writing.
func (f *outputFlag) print(w io.Writer, k kind, doc any, text func() string) error {
	if *f == outputJSON {
		return failed(printObject(w, k, doc))
	}
	said := shown(text())
	if (k == kindStatus || k == kindDoctor) && coloured(w) {
		said = painted(said)
	}
	_, err := io.WriteString(w, said)
	return failed(err)
}
