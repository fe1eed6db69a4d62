package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// minInterval keeps --watch from asking without a pause.
const minInterval = 100 * time.Millisecond

func newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [NAME ...]",
		Short: "Say who holds the address, since when and why",
		Long: "Says who holds the address, since when and why, and what is wrong.\n\n" +
			"Exit codes: 0 nothing of the following; 1 no keepvip answers, or there is no such NAME; 5 a member says that it holds the address while its\n" +
			"advertisements do not arrive here (SPLIT); 6 a host outside the election claims it (CONFLICT); 7 this node cannot serve, or no node can\n" +
			"(observed: fault). Of several the lowest. REJECTED, NO TAKER and SPREAD are 0: the address is served.",
		Args: arguments("NAME", 0, anyNumber),
	}
	socket := bindSocket(cmd)
	output := bindOutput(cmd)
	again := cmd.Flags().BoolP("watch", "w", false, "show it again and again, until Ctrl-C; where the output is no terminal, each change")
	interval := cmd.Flags().Duration("interval", time.Second, "how often --watch asks")
	cmd.ValidArgsFunction = names(socket, vipNames)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if *interval < minInterval {
			return fmt.Errorf("--interval %s, want at least %s", *interval, minInterval)
		}
		if *again {
			return failed(watchOf(*socket, names, *interval, *output).run(cmd.Context(), cmd.OutOrStdout()))
		}
		raw, doc, err := askStatus(cmd.Context(), *socket, names)
		if err != nil {
			return failed(err)
		}
		if f := followerOf(raw); f != nil {
			return output.print(cmd.OutOrStdout(), kindFollower, raw, func() string { return followerText(f, time.Now()) })
		}
		err = output.print(cmd.OutOrStdout(), kindStatus, raw, func() string { return statusText(doc, time.Now()) })
		return cmp.Or(err, finding(doc, time.Now()))
	}
	return cmd
}

// statusText is the status as a person reads it.
func statusText(d daemon.Status, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, keepvip %s\n", d.Node, d.Version)
	if d.Key != nil {
		fmt.Fprintf(&b, "key %d (%s), %s\n", d.Key.Signs.ID, d.Key.Signs.Fingerprint, d.Key.Mode)
	}
	b.WriteString(configText(d.Config, now))
	b.WriteString(raftText(d.Raft, now))
	b.WriteString(fifoText(d.Hooks))
	b.WriteString(pastText(d.History, now))
	b.WriteString(listenerText(d.Listener))
	b.WriteString(doorsText(d.Listeners))
	if len(d.VIPs) >= tableFrom {
		writeTable(&b, d.VIPs, now)
		return b.String()
	}
	for _, v := range d.VIPs {
		writeVIP(&b, v, now)
		writeHooks(&b, d.Hooks, v.Name, now)
	}
	return b.String()
}

// configText says why the file is not what is in force; otherwise there is nothing to say.
func configText(c *reloads.Status, now time.Time) string {
	if c == nil || c.Refused == nil {
		return ""
	}
	reasons := c.Refused.Reasons
	text := fmt.Sprintf("CONFIG refused %s ago, that of %s ago is in force: %s", ago(now, c.Refused.At), ago(now, c.Loaded), reasons[0])
	if more := len(reasons) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text + "\n"
}

// doorsText is a line about each listener beside the election that is not open.
func doorsText(all []door.Status) string {
	var b strings.Builder
	for _, l := range all {
		if l.Problem != "" {
			fmt.Fprintf(&b, "NO LISTENER %s %s: %s\n", l.Option, l.Address, coded(l.Problem, l.Code))
		}
	}
	return b.String()
}

// listenerText is a line about follow.listen on a member.
func listenerText(l *daemon.ListenerStatus) string {
	switch {
	case l == nil:
		return ""
	case l.Problem != "":
		return "NO LISTENER " + coded(l.Problem, l.Code) + "\n"
	}
	return fmt.Sprintf("listens at %s for %s, %d connections\n", l.Address, strings.Join(printable.Words(l.To), " "), l.Connections)
}

func writeVIP(b *strings.Builder, v instance.Status, now time.Time) {
	fmt.Fprintf(b, "\n%s: %s", v.Name, printable.List(v.Addresses))
	if v.Interface != "" {
		fmt.Fprintf(b, " on %s", v.Interface)
	}
	if m := v.Virtual; m != nil {
		fmt.Fprintf(b, ", with the virtual MAC %s (%s)", m.MAC, m.Name)
	}
	if v.Mode == config.ModeExternal {
		fmt.Fprintf(b, "\n  EXTERNAL  clients connect to %s", v.Endpoint)
	}
	if v.Observed == instance.ObservedExternal {
		writeExternal(b, v, now)
		return
	}
	fmt.Fprintf(b, "\n  state     %s for %s: %s\n", v.State, ago(now, v.Since), coded(v.Reason, v.Code))
	fmt.Fprintf(b, "  desired   %s\n  observed  %s\n", desiredText(v, now), observedText(v))
	fmt.Fprintf(b, "  holder    %s\n", holderText(v))
	fmt.Fprintf(b, "  this node %s, priority %d\n", fitText(v), v.Priority)
	writeChecks(b, v, now)
	if v.State != "initialize" { // out of the election it needs none
		fmt.Fprintf(b, "  fence     %s\n", fenceText(v.Fence, now))
	}
	writeDetector(b, v)
	writeSpread(b, v.Spread)
	writeLeases(b, v, now)
	writeWrong(b, "UNSERVED", v.Uncovered, code.NotCovered)
	writeWrong(b, "UNREACHED", v.Unreached, code.HeldUnreached)
	writeWrong(b, "MISSING", v.Lacking, code.FamilyMissing)
	if u := v.Unrouted; u != nil {
		writeWrong(b, "UNROUTED", u.Reason, code.RepliesLost)
		fmt.Fprintf(b, "            %s\n", u.Remedy)
	}
	for _, c := range v.Conflicts {
		writeWrong(b, "CONFLICT", conflictText(c, now), cmp.Or(c.Code, code.DuplicateAddress))
	}
	for _, n := range newcomersOf(v) {
		writeWrong(b, "CONFLICT", newcomerText(n, now), code.NewMember)
	}
	for _, s := range v.Splits {
		writeWrong(b, "SPLIT", splitText(s, now), code.Split)
	}
	if !v.Local {
		fmt.Fprintf(b, "  %s\n", takersText(v.Takers))
	}
	for i, m := range v.Members {
		label := "members"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "  %-9s %s\n", label, memberText(m, now))
	}
	for _, r := range v.Rejected {
		if r.Acute(now) {
			fmt.Fprintf(b, "  %-9s %s%d times: %s; %s\n", rejectedWord(r), fromText(r), r.Count, r.Text, coded(r.Remedy, r.Code))
		}
	}
}

// writeWrong writes a line about what is not as it should be; an empty text says that it is.
func writeWrong(b *strings.Builder, word, text string, c code.Code) {
	if text != "" {
		fmt.Fprintf(b, "  %-9s %s\n", word, coded(text, c))
	}
}

// writeExternal has what there is of an entry whose addresses are somebody else's.
func writeExternal(b *strings.Builder, v instance.Status, now time.Time) {
	fmt.Fprintf(b, "\n  desired   %s\n  observed  %s for %s\n", desiredText(v, now), observedText(v), ago(now, v.Since))
	fmt.Fprintf(b, "  this node %s\n", fitText(v))
	writeChecks(b, v, now)
}

// coded is a text with the code of what it says behind it, which docs/troubleshooting.md explains.
func coded(text string, c code.Code) string {
	if c == "" {
		return text
	}
	return text + " [" + string(c) + "]"
}

// observedText has the code of what makes a node other than it should be; its reason is on another line.
func observedText(v instance.Status) string {
	if v.Why == nil {
		return string(v.Observed)
	}
	return coded(string(v.Observed), v.Why.Code)
}

func rejectedWord(r election.Rejection) string {
	if r.Permitted {
		return "DOUBTFUL"
	}
	return "REJECTED"
}

// fromText is empty when the rejection is about the socket.
func fromText(r election.Rejection) string {
	if !r.Source.IsValid() {
		return ""
	}
	return "from " + r.Source.String() + ", "
}

// writeChecks has a line for each check; one alone needs no name.
func writeChecks(b *strings.Builder, v instance.Status, now time.Time) {
	for i, c := range v.Checks {
		label, name := "check", c.Name
		if len(v.Checks) > 1 {
			label = "checks"
		}
		if i > 0 {
			label = ""
		}
		if c.Weight != 0 {
			name = fmt.Sprintf("%s (weight %+d)", name, c.Weight)
		}
		if name != "" {
			name += " "
		}
		fmt.Fprintf(b, "  %-9s %s%s\n", label, name, checkText(c, now))
	}
	for _, c := range v.Checks {
		if !c.Expires.IsZero() {
			how, says := code.Expiry(servedBy(c), c.Expires, c.Expires.Sub(now))
			writeWrong(b, "EXPIRES", says, how)
		}
	}
}

// servedBy is whose certificate a check sees.
func servedBy(c instance.CheckStatus) string {
	if c.Name == "" {
		return "the certificate of the checked service"
	}
	return "the certificate of the checked service (" + c.Name + ")"
}

// ago is a span as a person says it: two units at most.
func ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

func holderText(v instance.Status) string {
	switch {
	case v.Observed == instance.ObservedExternal:
		return "external: " + v.Endpoint
	case v.State == "active" && v.Holder == "":
		return "this node, and its kernel keeps it from answering"
	case v.State == "active":
		return "this node (" + v.Holder + ")"
	case v.Holder == "":
		return "none is heard"
	}
	return v.HolderName()
}

func desiredText(v instance.Status, now time.Time) string {
	text := string(v.Desired)
	if v.Held != nil {
		text += " for " + ago(now, v.Held.Since)
		if v.Held.Reason != "" {
			text += ": " + v.Held.Reason
		}
	}
	return text
}

func fitText(v instance.Status) string {
	switch {
	case v.Eligible:
		return "fit"
	case v.Observed == instance.ObservedMember:
		return "member, no candidate"
	case v.NoCandidate:
		return "member, no candidate, not fit: " + v.Unfit
	}
	return "not fit: " + v.Unfit
}

func checkText(c instance.CheckStatus, now time.Time) string {
	out := c.State.String()
	if c.Reason != "" {
		out += ": " + c.Reason
	}
	if !c.LastProbe.IsZero() {
		out += fmt.Sprintf(" (%s ago, took %s)", ago(now, c.LastProbe), seconds(c.Latency).Round(time.Microsecond))
	}
	if c.Hint != "" {
		out += "; " + c.Hint
	}
	return coded(out, c.Code)
}

// seconds is a number of seconds of a document.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func fenceText(f instance.FenceStatus, now time.Time) string {
	switch {
	case f.Unbound:
		return "none is needed: hooks move the address, and keepvip binds nothing"
	case f.Route && f.Standing:
		return "none is needed: the kernel takes the route away if keepvip dies"
	case f.Route:
		return coded(f.Reason, f.Code)
	case f.Standing:
		text := "in place: the kernel silences the address if keepvip dies"
		if f.Repairs > 0 {
			text += fmt.Sprintf(" (built anew %d times, last %s ago)", f.Repairs, ago(now, f.Repaired))
		}
		if f.Uncovered != "" {
			text += "; it does not cover " + f.Uncovered
		}
		return coded(text, f.Code)
	}
	return coded(f.Reason, code.FenceLost)
}
