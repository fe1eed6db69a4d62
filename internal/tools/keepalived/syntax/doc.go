// Package syntax reads the text of a keepalived.conf as keepalived 2.2.7 reads it: lines, included files, definitions, conditions and
// sequences, and the blocks that come of them. What the keywords mean is for package keepalived to say.
//
// A physical line goes through these steps, and over again after each replacement:
//
//	@id, @^id           the line counts only for that node, or only for others
//	$NAME=value         is a definition, of several lines where each but the last ends in a backslash
//	~SEQ(..), ~LST(..)  repeat the rest of the line
//	$NAME, ${NAME}      are replaced by what was defined
//	include FILE        is replaced by the files that match
//
// What is left is cut at braces outside of quotes and into words. [Read] makes the tree of blocks of that.
//
// Every word knows the file and line it comes from: the line on which a definition is used, and not that on which it is made. Where
// keepalived would report a fault and go on in its own way, there is a [problem] with that place; a block with an unknown name keeps what
// is inside and nothing behind it. The package touches no files but through [Files], and starts no goroutine.
package syntax
