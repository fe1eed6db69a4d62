package lifeline

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/auth"
)

// What both ends say, all of it in the network's byte order:
//
//	accepting end  challenge: magic, nonce of 16 octets
//	dialling end   greeting:  magic, nonce of 16 octets, how many sessions, each of 8 octets, proof
//	accepting end  welcome:   magic, proof
//	dialling end   one octet each ten seconds; another one before it closes in order
//
// A proof is its length, 0 or 36, and what the keys make.
const (
	magic     = "KVL\x01"
	nonceLen  = 16
	maxProof  = 64
	stillHere = '.'
	goodBye   = '!'
	// maxSessions is how many of its sessions a member names: one that the other end knows is enough.
	maxSessions = 32
)

// The label is no address that a member's message could come from, of which a message's code begins with 16 octets: so neither can be taken for the other.
const label = "keepvip lifeline"

var (
	errMagic   = errors.New("what the other end says is no lifeline")
	errStrange = errors.New("the other end names no session that is heard")
	errProof   = errors.New("the other end does not prove that it has the key")
)

// ends are those of a line.
type ends struct{ dialled, accepted netip.Addr }

// nonces are what the two ends have made up, so that nothing of another line counts for this one.
type nonces struct{ dialled, accepted [nonceLen]byte }

func newNonce() (n [nonceLen]byte) {
	_, _ = rand.Read(n[:]) // never fails
	return n
}

// parts are what the proof of either end covers.
func (e ends) parts(by byte, n nonces, sessions []uint64) [][]byte {
	from, to := e.dialled.WithZone("").As16(), e.accepted.WithZone("").As16()
	return [][]byte{[]byte(label), {by}, from[:], to[:], n.dialled[:], n.accepted[:], appendSessions(nil, sessions)}
}

const byDialler, byAcceptor = 'd', 'a'

func appendSessions(b []byte, sessions []uint64) []byte {
	b = append(b, byte(len(sessions)))
	for _, s := range sessions {
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(s>>shift))
		}
	}
	return b
}

func appendProof(b, proof []byte) []byte { return append(append(b, byte(len(proof))), proof...) }

// greeting is what the dialling end says.
type greeting struct {
	nonce    [nonceLen]byte
	sessions []uint64
	proof    []byte
}

func (g greeting) bytes() []byte {
	b := append([]byte(magic), g.nonce[:]...)
	return appendProof(appendSessions(b, g.sessions), g.proof)
}

func readGreeting(r io.Reader) (g greeting, err error) {
	if g.nonce, err = readChallenge(r); err != nil {
		return g, err
	}
	count := make([]byte, 1)
	if _, err := io.ReadFull(r, count); err != nil {
		return g, err
	}
	if count[0] > maxSessions {
		return g, fmt.Errorf("%d sessions, want at most %d", count[0], maxSessions)
	}
	all := make([]byte, 8*int(count[0]))
	if _, err := io.ReadFull(r, all); err != nil {
		return g, err
	}
	for s := range slices.Chunk(all, 8) {
		var session uint64
		for _, octet := range s {
			session = session<<8 | uint64(octet)
		}
		g.sessions = append(g.sessions, session)
	}
	g.proof, err = readProof(r)
	return g, err
}

// readChallenge reads what a greeting begins with, too.
func readChallenge(r io.Reader) (nonce [nonceLen]byte, err error) {
	if err := readMagic(r); err != nil {
		return nonce, err
	}
	_, err = io.ReadFull(r, nonce[:])
	return nonce, err
}

func readMagic(r io.Reader) error {
	b := make([]byte, len(magic))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if !bytes.Equal(b, []byte(magic)) {
		return errMagic
	}
	return nil
}

func readProof(r io.Reader) ([]byte, error) {
	n := make([]byte, 1)
	if _, err := io.ReadFull(r, n); err != nil {
		return nil, err
	}
	if n[0] > maxProof {
		return nil, fmt.Errorf("proof of %d octets, want at most %d", n[0], maxProof)
	}
	proof := make([]byte, n[0])
	_, err := io.ReadFull(r, proof)
	return proof, err
}

// prove shows by the key that signs, if there is one, which node has made the parts.
func prove(by *auth.Keys, parts [][]byte) []byte {
	cfg := by.Config()
	if len(cfg.Keys) == 0 || cfg.Mode == auth.ReceiveOnly {
		return nil
	}
	return cfg.Keys[0].AppendTrailer(nil, parts...)
}

// proven tells whether the parts are to be believed: by one of the keys, or as what is not signed is believed in this
// mode.
func proven(by *auth.Keys, proof []byte, parts [][]byte) bool {
	cfg := by.Config()
	if len(cfg.Keys) == 0 || cfg.Mode != auth.Enforce {
		return true
	}
	return len(proof) == auth.TrailerLen && by.Genuine(proof[:auth.IDLen], proof[auth.IDLen:], parts...) == auth.Fresh
}

// greet is the dialling end's part, with these sessions of this node.
func greet(rw io.ReadWriter, e ends, sessions []uint64, by *auth.Keys) (err error) {
	n := nonces{dialled: newNonce()}
	if n.accepted, err = readChallenge(rw); err != nil {
		return err
	}
	g := greeting{nonce: n.dialled, sessions: sessions, proof: prove(by, e.parts(byDialler, n, sessions))}
	if _, err := rw.Write(g.bytes()); err != nil {
		return err
	}
	if err := readMagic(rw); err != nil {
		return err
	}
	proof, err := readProof(rw)
	if err == nil && !proven(by, proof, e.parts(byAcceptor, n, sessions)) {
		err = errProof
	}
	return err
}

// welcome is the accepting end's part. known tells whether a session is one that the member has said.
func welcome(rw io.ReadWriter, e ends, known func(session uint64) bool, by *auth.Keys) error {
	n := nonces{accepted: newNonce()}
	if _, err := rw.Write(append([]byte(magic), n.accepted[:]...)); err != nil {
		return err
	}
	g, err := readGreeting(rw)
	if err != nil {
		return err
	}
	n.dialled = g.nonce
	switch {
	case !proven(by, g.proof, e.parts(byDialler, n, g.sessions)):
		return errProof
	case !slices.ContainsFunc(g.sessions, known):
		return errStrange
	}
	_, err = rw.Write(appendProof([]byte(magic), prove(by, e.parts(byAcceptor, n, g.sessions))))
	return err
}
