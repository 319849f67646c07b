//go:build ignore

// Gen writes atom_table.go and entity_table.go. Run it with go generate.
//
// The names of entities and what they stand for are those of section 13.5 of the HTML standard, kept
// in testdata/entities.txt: a name, with its semicolon if it needs one, and its code points.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strconv"
	"strings"
)

// elements are the names of the elements of HTML, with those that only the parser still knows, SVG
// and MathML.
const elements = `
a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink
blockquote body br button canvas caption center cite code col colgroup command content data datalist
dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame
frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img input ins isindex kbd keygen
label legend li link listing main map mark marquee menu menuitem meta meter nav nobr noembed noframes
noscript object ol optgroup option output p param picture plaintext pre progress q rb rbc rp rt rtc
ruby s samp script search section select selectedcontent shadow slot small source spacer span strike
strong style sub summary sup table tbody td template textarea tfoot th thead time title tr track tt u
ul var video wbr xmp
svg altglyph altglyphdef altglyphitem altGlyph altGlyphDef altGlyphItem animate animatecolor
animateColor animatemotion animateMotion animatetransform animateTransform circle clippath clipPath
defs desc ellipse feblend feBlend fecolormatrix feColorMatrix fecomponenttransfer feComponentTransfer
fecomposite feComposite feconvolvematrix feConvolveMatrix fediffuselighting feDiffuseLighting
fedisplacementmap feDisplacementMap fedistantlight feDistantLight fedropshadow feDropShadow feflood
feFlood fefunca feFuncA fefuncb feFuncB fefuncg feFuncG fefuncr feFuncR fegaussianblur feGaussianBlur
feimage feImage femerge feMerge femergenode feMergeNode femorphology feMorphology feoffset feOffset
fepointlight fePointLight fespecularlighting feSpecularLighting fespotlight feSpotLight fetile feTile
feturbulence feTurbulence filter foreignobject foreignObject g glyphref glyphRef line lineargradient
linearGradient marker mask metadata path pattern polygon polyline radialgradient radialGradient rect
set stop switch symbol text textpath textPath tspan use view
math annotation annotation-xml maction malignmark menclose merror mfenced mfrac mglyph mi
mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup
msup mtable mtd mtext mtr munder munderover none semantics
rss channel item feed entry urlset url loc lastmod changefreq priority sitemapindex sitemap guid
pubDate author category enclosure`

// attributes are the names of attributes that pages use much or that the parser knows.
const attributes = `
accept accept-charset accesskey action align allow allowfullscreen alt aria-controls aria-describedby
aria-expanded aria-hidden aria-label aria-labelledby async autocomplete autofocus autoplay background
bgcolor border cellpadding cellspacing charset checked cite class color cols colspan content
contenteditable controls coords crossorigin data data-id data-src data-srcset datetime decoding
default defer dir disabled download draggable enctype face fetchpriority for formaction frameborder
headers height hidden href hreflang http-equiv id imagesizes imagesrcset inert integrity ismap
itemid itemprop itemref itemscope itemtype kind lang language list longdesc loop manifest max
maxlength media method min minlength multiple muted name nohref nomodule nonce novalidate onblur
onchange onclick onerror onfocus onload onmouseout onmouseover onsubmit open pattern ping placeholder
playsinline poster preload profile prompt property readonly referrerpolicy rel required rev reversed
role rows rowspan rules sandbox scope scrolling selected shape size sizes slot span spellcheck src
srcdoc srclang srcset start step style summary tabindex target title translate type typemustmatch
usemap valign value vspace hspace width wrap xmlns xmlns:xlink xml:lang xml:space xlink:actuate
xlink:arcrole xlink:href xlink:role xlink:show xlink:title xlink:type version encoding fill stroke d
x y r cx cy rx ry x1 x2 y1 y2 points transform opacity stroke-width stroke-linecap stroke-linejoin
fill-rule clip-rule definitionurl definitionURL
glyphref glyphRef attributename attributeName attributetype attributeType basefrequency baseFrequency baseprofile
baseProfile calcmode calcMode clippathunits clipPathUnits diffuseconstant diffuseConstant edgemode
edgeMode filterunits filterUnits gradienttransform gradientTransform gradientunits gradientUnits
kernelmatrix kernelMatrix kernelunitlength kernelUnitLength keypoints keyPoints keysplines keySplines
keytimes keyTimes lengthadjust lengthAdjust limitingconeangle limitingConeAngle markerheight
markerHeight markerunits markerUnits markerwidth markerWidth maskcontentunits maskContentUnits
maskunits maskUnits numoctaves numOctaves pathlength pathLength patterncontentunits
patternContentUnits patterntransform patternTransform patternunits patternUnits pointsatx pointsAtX
pointsaty pointsAtY pointsatz pointsAtZ preservealpha preserveAlpha preserveaspectratio
preserveAspectRatio primitiveunits primitiveUnits refx refX refy refY repeatcount repeatCount
repeatdur repeatDur requiredextensions requiredExtensions requiredfeatures requiredFeatures
specularconstant specularConstant specularexponent specularExponent spreadmethod spreadMethod
startoffset startOffset stddeviation stdDeviation stitchtiles stitchTiles surfacescale surfaceScale
systemlanguage systemLanguage tablevalues tableValues targetx targetX targety targetY textlength
textLength viewbox viewBox viewtarget viewTarget xchannelselector xChannelSelector ychannelselector
yChannelSelector zoomandpan zoomAndPan`

func main() {
	write("atom_table.go", atoms())
	write("entity_table.go", entities())
}

func write(name string, src []byte) {
	src, err := format.Source(src)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(name, src, 0o666); err != nil {
		panic(err)
	}
}

// hash must be hashOf in atom.go.
func hash(b string) uint32 {
	x := word(b[:min(8, len(b))])
	if n := len(b); n > 8 {
		x ^= (word(b[n-8:]) + uint64(n)) * 0xff51afd7ed558ccd
	}
	return uint32(x * 0x9e3779b97f4a7c15 >> 32)
}

func word(s string) (w uint64) {
	for i := range len(s) {
		w |= uint64(s[i]) << (8 * i)
	}
	return w
}

// place puts names into a table of a power of two of slots, by their hash and linear probing.
func place(names []string, first, bits int) (slots []int, longest int) {
	slots = make([]int, 1<<bits)
	for i, name := range names {
		at := int(hash(name) >> (32 - bits))
		probes := 1
		for slots[at] != 0 {
			at = (at + 1) % len(slots)
			probes++
		}
		slots[at] = first + i
		longest = max(longest, probes)
	}
	return slots, longest
}

const header = "// Code generated by gen.go. DO NOT EDIT.\n\npackage html\n\n"

func atoms() []byte {
	// Elements come first, so that tables about elements stay short.
	names := strings.Fields(elements)
	elementCount := len(names)
	names = append(names, strings.Fields(attributes)...)
	seen := map[string]bool{}
	for i, name := range names {
		if !seen[name] {
			seen[name] = true
		} else {
			if i < elementCount {
				panic(name)
			}
			names[i] = ""
		}
	}
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })

	const bits = 11
	slots, longest := place(names, 1, bits)
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("// The atoms of the names that every document knows: those of the elements of HTML, SVG and " +
		"MathML,\n// then those of attributes.\nconst (\n")
	for i, name := range names {
		fmt.Fprintf(&b, "\tAtom%s Atom = %d // %s\n", goName(name), i+1, name)
	}
	fmt.Fprintf(&b, ")\n\nconst (\n\telementAtoms = %d // the atoms below are those of elements\n\tstaticAtoms = %d // "+
		"the first atom of a document's own\n\tatomBits = %d // the logarithm of the size of atomSlots\n\tatomProbes = %d "+
		"// how far a name may lie from its slot\n)\n\n",
		elementCount+1, len(names)+1, bits, longest)
	all := ""
	fmt.Fprintf(&b, "// atomEnds has, for each atom, the end of its name in atomNames, which is the start of the "+
		"next.\nvar atomEnds = [staticAtoms]uint16{")
	for _, name := range append([]string{""}, names...) {
		all += name
		fmt.Fprintf(&b, "%d,", len(all))
	}
	fmt.Fprintf(&b, "}\n\nconst atomNames = %s\n\n", quote(all))
	fmt.Fprintf(&b, "// atomWords has the first eight bytes of each name, the first of them lowest; missing ones are "+
		"0.\nvar atomWords = [staticAtoms]uint64{0,")
	for _, name := range names {
		fmt.Fprintf(&b, "%#x,", word(name[:min(8, len(name))]))
	}
	b.WriteString("}\n\n")
	fmt.Fprintf(&b, "// atomSlots is a hash table with linear probing; 0 is an empty slot.\nvar atomSlots = [1<<atomBits]uint16{")
	for i, s := range slots {
		if s != 0 {
			fmt.Fprintf(&b, "%d:%d,", i, s)
		}
	}
	b.WriteString("}\n\n")

	// The names that the parser changes in foreign content, sections 13.2.6.1 and 13.2.6.5.
	lower := map[string]string{}
	for _, name := range names {
		if l := strings.ToLower(name); l != name {
			lower[l] = name
		}
	}
	for _, kind := range []struct {
		name, doc string
		in        []string
	}{
		{"svgNames", "has the names of SVG elements whose letters the parser changes to the case of SVG", strings.Fields(elements)},
		{"svgAttributes", "has the names of SVG attributes whose letters the parser changes to the case of SVG", strings.Fields(attributes)},
	} {
		fmt.Fprintf(&b, "// %s %s.\nvar %s = [staticAtoms]Atom{", kind.name, kind.doc, kind.name)
		for _, name := range kind.in {
			if to := lower[name]; to != "" && to != "definitionURL" && to != "pubDate" {
				fmt.Fprintf(&b, "Atom%s: Atom%s,\n", goName(name), goName(to))
			}
		}
		b.WriteString("}\n\n")
	}
	return b.Bytes()
}

func goName(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == ':' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// quote writes a long string in lines.
func quote(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := min(90, len(s))
		for n < len(s) && s[n]&0xc0 == 0x80 {
			n++
		}
		if b.Len() > 0 {
			b.WriteString(" +\n\t")
		}
		b.WriteString(strconv.Quote(s[:n]))
		s = s[n:]
	}
	return b.String()
}

func entities() []byte {
	data, err := os.ReadFile("testdata/entities.txt")
	if err != nil {
		panic(err)
	}
	type entity struct{ name, text string }
	var list []entity
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		text := ""
		for _, hex := range fields[1:] {
			r, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				panic(err)
			}
			text += string(rune(r))
		}
		list = append(list, entity{fields[0], text})
	}
	slices.SortFunc(list, func(a, b entity) int { return cmp.Compare(a.name, b.name) })
	const bits = 13
	names := make([]string, len(list))
	allNames, allTexts := "", ""
	for i, e := range list {
		names[i] = e.name
	}
	slots, longest := place(names, 1, bits)
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "const (\n\tentityCount = %d\n\tentityBits = %d // the logarithm of the size of "+
		"entitySlots\n\tentityProbes = %d // how far a name may lie from its slot\n)\n\n", len(list), bits, longest)
	b.WriteString("// entityEnds has the ends of the entities' names in entityNames and of their texts in " +
		"entityTexts;\n// each starts where the one before it ends.\nvar entityEnds = [entityCount+1]struct{name, text uint16}{")
	for _, e := range append([]entity{{}}, list...) {
		allNames += e.name
		allTexts += e.text
		fmt.Fprintf(&b, "{%d,%d},", len(allNames), len(allTexts))
	}
	b.WriteString("}\n\n// entitySlots is a hash table with linear probing; 0 is an empty slot.\nvar entitySlots = [1<<entityBits]uint16{")
	for i, s := range slots {
		if s != 0 {
			fmt.Fprintf(&b, "%d:%d,", i, s)
		}
	}
	fmt.Fprintf(&b, "}\n\nconst entityNames = %s\n\nconst entityTexts = %s\n", quote(allNames), quote(allTexts))
	return b.Bytes()
}
