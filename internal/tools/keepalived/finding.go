package keepalived

import "github.com/keepvip/keepvip/internal/tools/keepalived/syntax"

// Severity says how bad a finding is.
type Severity string

// The severities, worst first.
const (
	Fault   Severity = "error"   // the file is refused by keepalived -t, or does something else than it says
	Warning Severity = "warning" // it does what it says, and that is seldom what is wanted
	Note    Severity = "note"    // worth knowing before keepvip takes the file over
)

// Finding is one thing to know about a place of a configuration.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"` // one word or two for what kind it is; the same kind always has the same
	syntax.Origin
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
	Fatal  bool   `json:"-"` // keepalived does not start
	// Harmless is a fault that keepalived logs, and with which it works as the file means.
	Harmless bool `json:"-"`
	Taken    bool `json:"-"` // a fault with which keepalived runs, and it is certain with which values: those of the model
}

// findings are those so far. A pointer to one of them counts until there is the next.
type findings []Finding

func (f *findings) found(s Severity, code string, at syntax.Origin, text, remedy string) *Finding {
	*f = append(*f, Finding{Severity: s, Code: code, Origin: at, Text: text, Remedy: remedy})
	return f.last()
}

func (f *findings) last() *Finding { return &(*f)[len(*f)-1] }

func (f *findings) fault(code string, at syntax.Origin, text, remedy string) *Finding {
	return f.found(Fault, code, at, text, remedy)
}

// slip is a fault of which it is certain what keepalived makes of it.
func (f *findings) slip(code string, at syntax.Origin, text, remedy string) *Finding {
	fault := f.fault(code, at, text, remedy)
	fault.Taken = true
	return fault
}

// Codes of the findings that this package makes, beside those of package syntax.
const (
	CodeUnknown     = "unknown-keyword"  // keepalived 2.2.7 does not know the keyword here
	CodeNewer       = "newer-keyword"    // a later keepalived knows it
	CodeMissing     = "missing"          // a value, a name or a block is missing
	CodeEmpty       = "no-address"       // an instance with nothing to advertise
	CodeValue       = "value"            // a value that keepalived does not take
	codeExtra       = "extra-words"      // words behind the value, which keepalived does not read
	codeReference   = "reference"        // a name of a script, file or instance that is not there, or not yet
	CodeDuplicate   = "duplicate"        // the same thing twice
	codeConflict    = "conflict"         // keywords that exclude each other: keepalived drops one of them
	codeFamily      = "address-family"   // IPv4 and IPv6 where only one may be
	CodeIgnored     = "ignored"          // keepvip has no use for it, and nothing is lost
	CodeUnsupported = "unsupported"      // keepvip has nothing that does this
	codeNotVRRP     = "not-vrrp"         // LVS and BFD: keepvip is no load balancer
	codeArgument    = "argument-ignored" // a no or off that keepalived does not read
)
