package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/keepvip/keepvip/internal/node/history"
)

// History is what `keepvip history -o json` prints; its names are a contract with scripts.
type History struct {
	Node        string           `json:"node"`
	File        string           `json:"file,omitempty"`    // where it was read, because no keepvip answers; absent otherwise
	Problem     *history.Status  `json:"problem,omitempty"` // absent while the file has every transition
	Transitions []history.Record `json:"transitions"`       // the oldest first
}

// history writes a History, as it is read.
func (d *Daemon) history(w io.Writer) error {
	node, _ := os.Hostname() // a node without a name is shown without
	head, err := json.Marshal(struct {
		Node    string          `json:"node"`
		Problem *history.Status `json:"problem,omitempty"`
	}{node, d.past.Status()})
	if err != nil {
		return fmt.Errorf("encode the history: %w", err)
	}
	if _, err = fmt.Fprintf(w, `%s,"transitions":`, head[:len(head)-1]); err == nil {
		_, err = d.past.WriteTo(w)
	}
	if err == nil {
		_, err = io.WriteString(w, "}\n")
	}
	return err
}
