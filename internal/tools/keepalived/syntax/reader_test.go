package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, files memory) *Document {
	t.Helper()
	doc, err := Read("/etc/keepalived/keepalived.conf", "one", files)
	require.NoError(t, err)
	return doc
}

// readText reads what stands in one file.
func readText(t *testing.T, text string) *Document {
	t.Helper()
	return read(t, memory{"/etc/keepalived/keepalived.conf": text})
}

// outline is a tree in one line: words by spaces, lines by semicolons, blocks in braces; a word of its own is empty or has a space in quotes.
func outline(nodes []*Node) string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		words := make([]string, 0, len(n.Words))
		for _, w := range n.Words {
			if w == "" || strings.ContainsAny(w, " \t;{}") {
				w = fmt.Sprintf("%q", w)
			}
			words = append(words, w)
		}
		line := strings.Join(words, " ")
		if n.Block {
			line += " {" + outline(n.Children) + "}"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func codes(problems []problem) []string {
	out := make([]string, 0, len(problems))
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%d %s", p.At.Line, p.Code))
	}
	return out
}

// Every row without a problem is what keepalived 2.2.7 makes of the same text, as its data dump shows.
func TestReadMakesTheTree(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"words":                          {"a b\tc\n  d\x0be\x0cf", "a b c; d e f"},
		"line ends of Windows":           {"a b\r\nc {\r\n}\r\n", "a b; c {}"},
		"a quote is a word":              {`e"f g"h "c d" "a""b" ""`, `e "f g" h "c d" a b ""`},
		"single quotes are letters":      {`'x "y" z'`, `'x y z'`},
		"no escapes in words":            {`esc\ aped "a\tb" x\41`, `esc\ aped a\tb x\41`},
		"comments":                       {"# a\n! b\nbang !c x\nhash # c\na \"b # c\" d # e\nc {# d\n}! e", `bang; hash; a "b # c" d; c {}`},
		"single quotes hide no comment":  {`'quoted ! bang'`, `'quoted`},
		"an escaped quote hides one":     {`script "/bin/x \"c # d\" e"`, `script "/bin/x \\" c # d\ " e"`},
		"no continuation outside":        {"a\\\nb", `a\; b`},
		"blocks":                         {"a b { c\nd } e\n}", ""},
		"block on one line":              {"a { b c } d", "a {b c}; d"},
		"block on the next line":         {"a\n\n# x\n{\n b }\nc", "a {b}; c"},
		"words cut at braces":            {"b{c\n}", "b {c}"},
		"quoted braces":                  {`a "b{c" "d}e" { f }`, `a "b{c" "d}e" {f}`},
		"empty blocks":                   {"a {}\nb { }\nc {\n}\nd {e}", "a {}; b {}; c {}; d {e}"},
		"what follows a block":           {"a {\n b {\n c\n }\n d\n}\ne", "a {b {c}; d}; e"},
		"conditions":                     {"@one a1\n@two a2\n@^one b1\n@^two b2\n  @one   c d\n@^ e\n@ f", "a1; b2; c d; e"},
		"one condition a line":           {"@one @two a\nmid @two b\na@b.c", "@two a; mid @two b; a@b.c"},
		"a condition drops the block":    {"@two a { b }\nc", "c"},
		"definitions":                    {"$R=rid\n$R\nx$R\n${R}x\np${R}q \"${R}\"", `rid; xrid; ridx; pridq rid`},
		"where a name ends":              {"$R=r\n$R,y $R)y $Rx $R.y $R:y \"$R\" $$R \\$R $R$R", `r,y r)y $Rx $R.y $R:y $R $r \r $Rr`},
		"a value":                        {"$V=a b  c # d\n$E=\n$V\n${E}.e\n$Q=\"q s\"\n$Q\n$T=tr  \n[${T}]\n$L=  lead\n[${L}]", `a b c; .e; "q s"; [tr]; [lead]`},
		"no definition":                  {"$P = 5\n$1A=9\n$A-B=9\n$=5\nx $A=5", "$P = 5; $1A=9; $A-B=9; $=5; x $A=5"},
		"defined when used":              {"$S=${R}b\n$R=c\n${S}\n$R=d\n${S}", "cb; db"},
		"an undefined name stays":        {"$U x $U.", "$U x $U."},
		"keywords by definition":         {"$K=key\n$O={\n$C=}\n$K $O\n x\n$C\ny", "key {x}; y"},
		"several lines":                  {"$M= \\\n one x \\\n two\na\n$M\nz $M\n${M}", "a; one x; two; z; one x; two; one x; two"},
		"the first line is joined":       {"$N=xx \\\n yy\nx $N", "x xx; yy"},
		"only at the end of a line":      {"$M= \\\n one \\\n two\n$M.", "$M."},
		"empty and comment lines in one": {"$E= \\\n \\\n e1 \\\n # c \\\n e2 # d \\\n e3\n$E", "e1; e2; e3"},
		"definitions in a definition":    {"$M= \\\n one\n$O= \\\n o1 \\\n o2 $M\n$O\n$D= \\\n $I=5 \\\n in${I}\n$D", "o1; o2; one; in5"},
		"a block in a definition":        {"$B= \\\n b { \\\n x${K} \\\n }\n$K=1\n$B\n$K=2\n$B", "b {x1}; b {x2}"},
		"conditions by definition":       {"$I=@one\n$J=@two\n$I a\n$J b", "a"},
		"definitions by condition":       {"@one $X=1\n@two $X=2\nv$X", "v1"},
		"predefined":                     {"${_PWD} ${_INSTANCE}\na${_HASH}b\na$_BANG b\n\"${_HASH}x\"", "/etc/keepalived one; a; a; #x"},
		"a sequence":                     {"~SEQ(X, 0, 3) s$X x${X}y", "s0 x0y; s1 x1y; s2 x2y; s3 x3y"},
		"sequences with defaults":        {"~SEQ(A, 2) a$A\n~SEQ(B, -2) b$B\n~SEQ(C,3,1) c$C\n~SEQ(D,0) d$D\n~SEQ(E,0,0) e$E", "a1; a2; b-1; b-2; c3; c2; c1; d1; d0; e0"},
		"sequences with steps":           {"~SEQ(A,0,2,5) a$A\n~SEQ(B,1,1,1) b$B\n~SEQ( C , +1 , 2 ) c$C", "a0; a2; a4; b1; c1; c2"},
		"sequences in other bases":       {"~SEQx(A,8,4,16) a$A\n~SEQx(B,0x9,0xb) b$B\n~SEQ(C,010,012) c$C", "a8; ac; a10; b9; ba; bb; c8; c9; c10"},
		"sequences of sequences":         {"~SEQ(A,1,2) ~SEQ(B,1,2) t${A}${B}", "t11; t12; t21; t22"},
		"only at the start of a line":    {"before ~SEQ(R,1,2)", "before ~SEQ(R,1,2)"},
		"a sequence over a condition":    {"~SEQ(A,1,2) @two a\n~SEQ(B,1,2) @one b\n@one ~SEQ(C,1,2) c$C", "b; b; c1; c2"},
		"a sequence of a definition":     {"$M= \\\n one \\\n two\n~SEQ(G,1,2) g$G $M", "g1; one; two; g2; one; two"},
		"the variable stays":             {"$Z=0\n~SEQ(Z,1,2) z$Z\nz$Z", "z1; z2; z2"},
		"a definition as a bound":        {"$V=2\n~SEQ(S,1,$V) s$S\n~SEQ(T,1,${V}) t$T", "s1; s2; t1; t2"},
		"a sequence of nothing":          {"a\n~SEQ(S,1,2)\nb", "a; b"},
		"a list":                         {"~LST(L, a, b) l$L\n~LST(E, ,b) [${E}]\n~LST(F,a,) [${F}]", "la; lb; []; [b]; [a]; []"},
		"a list of lists":                {"~LST({A, B}, {a , b}, { c,d }) m$A.$B m${A}${B}\n~LST({P,Q},{a,b},{c}) n${P}.${Q}.", "m$A.b mab; m$A.d mcd; na.b.; nc.."},
	} {
		t.Run(name, func(t *testing.T) {
			doc := readText(t, c.text)
			if c.want == "" {
				c.want = "a b {c; d}; e"
				assert.Equal(t, []string{"3 brace"}, codes(doc.Problems))
			} else {
				assert.Empty(t, doc.Problems)
			}
			assert.Equal(t, c.want, outline(doc.Nodes))
		})
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		problems   []string
	}{
		"a quote that is not closed":    {"a\nb \"c\nd", "a; b; d", []string{"2 quote"}},
		"a comment inside of a word":    {"bang!c x\nhash#c\nx y#z", "bang; hash; x y", []string{"1 comment", "2 comment", "3 comment"}},
		"an escaped one":                {`a "b\"c"`, `a b\ c`, []string{"1 quote"}},
		"a block that is not closed":    {"a\nb {\nc {\n}\nd", "a; b {c {}; d}", []string{"2 brace"}},
		"a brace too many":              {"a {\n}\n}\nb", "a {}; b", []string{"3 brace"}},
		"a brace without a keyword":     {"a {\n{\n b\n}\n}\nc", `a {"" {b}}; c`, []string{"2 brace"}},
		"a brace in quotes":             {"a {\n\"}\"\n}", `a {"}"}`, []string{"2 brace"}},
		"sequences":                     {"~SEQ(O,1,0,2) o\n~SEQ(P,3,1,1) o\n~SEQ(Q,a,b) o\n~SEQ(R) o\n~SEQ(S,1,2 o\n~SEQ(T,1,1,2,3) o\nx", "x", []string{"1 sequence", "2 sequence", "3 sequence", "4 sequence", "5 sequence", "6 sequence"}},
		"names of sequences are exact":  {"~seq(N,1,2) n\n~FOO(A) x\n~", "~seq(N,1,2) n; ~FOO(A) x; ~", []string{"1 sequence", "2 sequence", "3 sequence"}},
		"lists":                         {"~LST(O) o\n~LST(A, \"a b\", c) o\n~LST(B, a b) o\n~LST({A,B},{a,b,c}) o\n~LST( A, b) o\nx", "x", []string{"1 sequence", "2 sequence", "3 sequence", "4 sequence", "5 sequence"}},
		"a sequence without end":        {"~SEQ(A,1,99999999) a\nb", "b", []string{"1 sequence"}},
		"sequences that multiply":       {"~SEQ(A,1,60000) ~SEQ(B,1,60000) a\nb", "", []string{"1 length"}},
		"a definition of itself":        {"$R=x${R}\na\n${R}\nb", "a; b", []string{"3 definition"}},
		"a definition of several lines": {"$R= \\\n x \\\n $R\na\n$R\nb", "", []string{"5 length"}},
		"definitions that multiply":     {"$M= \\\n" + strings.Repeat(" $M \\\n", 1000) + " a\n$M\nb", "", []string{"1003 length"}},
		"a definition without end":      {"a\n$M= \\\n x \\", "a", []string{"2 definition"}},
		"a condition before one":        {"@two $M= \\\n x\na", "x; a", []string{"1 definition"}},
		"a random number":               {"a ${_RANDOM 5 6}", "a 0", []string{"1 definition"}},
		"a zero byte":                   {"a\nb\x00c d\ne", "a; b; e", []string{"2 characters"}},
		"typographic quotes":            {"a \u201cb c\u201d\n# \u201cd\u201d\ne", "a \u201cb c\u201d; e", []string{"1 characters"}},
		"a space that does not break":   {"a\u00a0b\nc", "a\u00a0b; c", []string{"1 characters"}},
		"a byte order mark":             {"\xef\xbb\xbfa\nb", "a; b", []string{"1 characters"}},
		"a long line":                   {"a\n" + strings.Repeat("b", 1100) + "\nc", "a; " + strings.Repeat("b", 1100) + "; c", []string{"2 length"}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := readText(t, c.text)
			assert.Equal(t, c.problems, codes(doc.Problems))
			if c.want != "" {
				assert.Equal(t, c.want, outline(doc.Nodes))
			}
		})
	}
}

func TestReadIncludes(t *testing.T) {
	files := memory{
		"/etc/keepalived/sub/x.inc":       "x1 ${_PWD}\ninclude y.inc\nx2\n@one xc",
		"/etc/keepalived/sub/y.inc":       "y1",
		"/etc/keepalived/d/a.inc":         "da $V",
		"/etc/keepalived/d/b.inc":         "db",
		"/etc/keepalived/d/.hid.inc":      "dh",
		"/etc/keepalived/loop.inc":        "include loop.inc",
		"/etc/keepalived/many.inc":        "include {many,many,many,many,many,many,many,many}.inc",
		"/etc/keepalived/open.inc":        "open {",
		"/srv/abs.inc":                    "abs",
		"/etc/keepalived/keepalived.conf": "",
	}
	for name, c := range map[string]struct {
		text, want string
		problems   []string
	}{
		"nested, beside the including file": {"include sub/x.inc\nz", "x1 /etc/keepalived/sub; y1; x2; xc; z", nil},
		"by a pattern, sorted, not hidden":  {"$V=v\ninclude d/*.inc", "da v; db", nil},
		"by braces, in their order":         {"include d/{b,a}.inc", "db; da $V", nil},
		"by a set":                          {"include d/[ab].inc", "da $V; db", nil},
		"absolute":                          {"include /srv/abs.inc", "abs", nil},
		"in a block":                        {"a {\n include sub/y.inc\n b\n}", "a {y1; b}", nil},
		"over files":                        {"include open.inc\n x\n}", "open {x}", nil},
		"by condition":                      {"@one include sub/y.inc\n@two include d/b.inc", "y1", nil},
		"by definition":                     {"$I=include\n$F=sub/y.inc\n$I $F\ninclude $F # c", "y1; y1", nil},
		"in a definition of several lines":  {"$M= \\\n a \\\n include sub/y.inc \\\n b\n$M", "a; y1; b", nil},
		"no keyword elsewhere":              {"x include sub/y.inc\ninclude", "x include sub/y.inc; include", nil},
		"missing":                           {"include no.inc\nz", "z", []string{"1 include"}},
		"a pattern that matches nothing":    {"include d/*.zzz\nincluder d/*.zzz\nincludem d/*.zzz\nz", "z", nil},
		"a pattern that has to match":       {"includew d/*.zzz\nincludea d/*.zzz", "", []string{"1 include", "2 include"}},
		"a brace that matches nothing":      {"include d/{b,zz}.inc", "db", []string{"1 include"}},
		"quotes belong to the name":         {"include \"sub/y.inc\"\nz", "z", []string{"1 include"}},
		"a file that includes itself":       {"include loop.inc\nz", "z", []string{"1 include"}},
		"files that multiply":               {"include many.inc\nz", "", nil},
		"a relative name in a sequence":     {"~SEQ(I,1,2) include /srv/abs.inc\n~SEQ(J,1,1) include sub/y.inc", "abs; abs; y1", []string{"2 include"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := memory(files)
			files["/etc/keepalived/keepalived.conf"] = c.text
			doc := read(t, files)
			if name == "files that multiply" {
				assert.NotEmpty(t, doc.Problems)
				return
			}
			if len(c.problems) == 0 {
				assert.Empty(t, doc.Problems)
			} else {
				assert.Equal(t, c.problems, codes(doc.Problems))
			}
			assert.Equal(t, c.want, outline(doc.Nodes))
		})
	}
}

func TestReadKnowsWhereEachLineIsFrom(t *testing.T) {
	doc := read(t, memory{
		"/etc/keepalived/keepalived.conf": "a\n$M= \\\n b \\\n c\n$M\ninclude i\n~SEQ(X,1,2) d$X\ne { f\n}",
		"/etc/keepalived/i":               "# x\ng",
	})
	var got []string
	var visit func([]*Node)
	visit = func(nodes []*Node) {
		for _, n := range nodes {
			got = append(got, n.Words[0]+" "+strings.TrimPrefix(n.At.String(), "/etc/keepalived/"))
			visit(n.Children)
		}
	}
	visit(doc.Nodes)
	assert.Equal(t, []string{
		"a keepalived.conf:1", "b keepalived.conf:5", "c keepalived.conf:5", "g i:2", "d1 keepalived.conf:7", "d2 keepalived.conf:7",
		"e keepalived.conf:8", "f keepalived.conf:8",
	}, got)
	assert.Equal(t, []string{"/etc/keepalived/keepalived.conf", "/etc/keepalived/i"}, doc.Sources)
}

func TestReadMissingFileIsAnError(t *testing.T) {
	_, err := Read("/nowhere", "", memory{})
	require.ErrorContains(t, err, "/nowhere")
}
