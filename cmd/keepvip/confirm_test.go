package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestVerbsConfirmWhoHoldsNow(t *testing.T) {
	doc := sampleStatus(time.Now())
	other := doc.VIPs[0]
	other.Name, other.State, other.Desired, other.Holder = "ingress", "backup", instance.Drained, "10.0.0.11"
	doc.VIPs = append(doc.VIPs, other)
	socket := answering(t, doc)
	took := regexp.MustCompile(`took \d+\S*s`)
	for want, args := range map[string][]string{
		"apiserver: this node (10.0.0.12) holds it; announce took T\ningress: drained here, n1 (10.0.0.11) holds it; announce took T\n": {"announce"},
		"ingress: drained here, n1 (10.0.0.11) holds it; drain took T\n":                                                                {"drain", "ingress"},
		"10.0.0.13: add took T\n": {"member", "add", "10.0.0.13"},
		"recover took T\n":        {"member", "recover"},
	} {
		code, out, errs := keepvip(t, append(args, "--socket", socket)...)
		require.Equal(t, exitOK, code, errs)
		assert.Equal(t, want, took.ReplaceAllString(out, "took T"))
	}
	code, out, errs := keepvip(t, "drain", "--socket", t.TempDir()+"/none")
	assert.Equal(t, exitFailure, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "/none: there is no such socket; start keepvip")
}

// A hold of the last taker is carried out, and says that the next fault takes the address away.
func TestHoldThatLeavesNoTakerSaysSo(t *testing.T) {
	doc := sampleStatus(time.Now())
	doc.VIPs[0].State, doc.VIPs[0].Holder = "backup", "10.0.0.11"
	doc.VIPs[0].Takers = instance.Takers{Nodes: 2, Reason: "n2 is held by an operator"}
	socket := answering(t, doc)
	for verb, want := range map[string]bool{"hold": true, "drain": true, "resume": false} {
		code, out, errs := keepvip(t, verb, "--socket", socket)
		require.Equal(t, exitOK, code, errs)
		assert.Equal(t, want, strings.Contains(out, "apiserver: NO TAKER: 0 of 2 nodes could take over: n2 is held by an operator\n"), "%s: %s", verb, out)
	}
}

// A Backup is drained without a question. Where it has to take the address then, a script must not go on as if the node were free.
func TestDrainOfANodeThatHoldsTheAddressInTheEndIsNotDone(t *testing.T) {
	doc := sampleStatus(time.Now())
	doc.VIPs[0].Desired = instance.Drained
	doc.VIPs[0].Takers = instance.Takers{Nodes: 2, Reason: "n2 is held by an operator"}
	code, out, errs := keepvip(t, "drain", "--socket", answering(t, doc))
	assert.Equal(t, exitNoTaker, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "apiserver: this node (10.0.0.12) holds the address, though it is drained: 0 of 2 nodes could take over: n2 is held by an operator; it gives the address away as soon as another node is fit\n")
}

func TestConfirmationWithoutAHolderWaitsNoLongerThanItMust(t *testing.T) {
	doc := sampleStatus(time.Now())
	doc.VIPs[0].State, doc.VIPs[0].Holder = "backup", ""
	code, out, errs := keepvip(t, "hold", "--force", "--socket", answering(t, doc))
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "apiserver: no holder is heard; hold took ")
}

func TestCompletionOfEveryCommandThatTakesANameKnowsIt(t *testing.T) {
	socket := answering(t, sampleStatus(time.Now()))
	var found int
	for _, cmd := range newRoot().Commands() {
		if !strings.Contains(cmd.Use, "NAME") {
			continue
		}
		found++
		_, out, _ := keepvip(t, "__complete", cmd.Name(), "--socket", socket, "")
		assert.Equal(t, "apiserver\n:4\n", out, cmd.Name())
	}
	assert.Greater(t, found, 5)
}

func TestCompletionKnowsNamesAndNodes(t *testing.T) {
	doc := sampleStatus(time.Now())
	second := doc.VIPs[0]
	second.Name = "ingress"
	doc.VIPs = append(doc.VIPs, second)
	socket := answering(t, doc)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"apiserver\ningress\n:4\n", []string{"status", "--socket", socket, ""}},
		{"apiserver\ningress\n:4\n", []string{"history", "--socket", socket, ""}},
		{"apiserver\ningress\n:4\n", []string{"explain", "--socket", socket, ""}},
		{"apiserver\ningress\n:4\n", []string{"drill", "--socket", socket, ""}},
		{"ingress\n:4\n", []string{"drain", "--socket", socket, "apiserver", ""}},
		{"n1\n:4\n", []string{"handover", "--socket", socket, "--to", ""}},
		{"text\njson\n:4\n", []string{"reload", "-o", ""}},
		{":4\n", []string{"hold", "--socket", t.TempDir() + "/none", ""}},
	} {
		_, out, _ := keepvip(t, append([]string{"__complete"}, tt.args...)...)
		assert.Equal(t, tt.want, out, "%q", tt.args)
	}
}
