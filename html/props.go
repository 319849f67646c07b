package html

// props are the categories of elements that the rules of tree construction ask for, of an element on
// the stack of open elements.
type props uint16

const (
	propHTML       props = 1 << iota // in the namespace of HTML
	propSpecial                      // the special category, section 13.2.4.2
	propPassable                     // special, but the search for an open li, dd or dt goes on
	propScope                        // ends "has an element in scope"
	propMode                         // decides the insertion mode, section 13.2.4.1
	propImplied                      // has an implied end tag, section 13.2.6.3
	propThorough                     // the same, thoroughly
	propTable                        // nothing but parts of a table can be inserted into it
	propMathText                     // a MathML text integration point, section 13.2.6
	propHTMLText                     // an HTML integration point
	propAnnotation                   // MathML's annotation-xml
)

// htmlProps has the categories of the elements of HTML.
var htmlProps = [elementAtoms]props{
	AtomAddress:    propSpecial | propPassable,
	AtomApplet:     propSpecial | propScope,
	AtomArea:       propSpecial,
	AtomArticle:    propSpecial,
	AtomAside:      propSpecial,
	AtomBase:       propSpecial,
	AtomBasefont:   propSpecial,
	AtomBgsound:    propSpecial,
	AtomBlockquote: propSpecial,
	AtomBody:       propSpecial | propMode,
	AtomBr:         propSpecial,
	AtomButton:     propSpecial,
	AtomCaption:    propSpecial | propScope | propMode | propThorough,
	AtomCenter:     propSpecial,
	AtomCol:        propSpecial,
	AtomColgroup:   propSpecial | propMode | propThorough,
	AtomDd:         propSpecial | propImplied,
	AtomDetails:    propSpecial,
	AtomDir:        propSpecial,
	AtomDiv:        propSpecial | propPassable,
	AtomDl:         propSpecial,
	AtomDt:         propSpecial | propImplied,
	AtomEmbed:      propSpecial,
	AtomFieldset:   propSpecial,
	AtomFigcaption: propSpecial,
	AtomFigure:     propSpecial,
	AtomFooter:     propSpecial,
	AtomForm:       propSpecial,
	AtomFrame:      propSpecial,
	AtomFrameset:   propSpecial | propMode,
	AtomH1:         propSpecial,
	AtomH2:         propSpecial,
	AtomH3:         propSpecial,
	AtomH4:         propSpecial,
	AtomH5:         propSpecial,
	AtomH6:         propSpecial,
	AtomHead:       propSpecial | propMode,
	AtomHeader:     propSpecial,
	AtomHgroup:     propSpecial,
	AtomHr:         propSpecial,
	AtomHtml:       propSpecial | propScope | propMode,
	AtomIframe:     propSpecial,
	AtomImg:        propSpecial,
	AtomInput:      propSpecial,
	AtomKeygen:     propSpecial,
	AtomLi:         propSpecial | propImplied,
	AtomLink:       propSpecial,
	AtomListing:    propSpecial,
	AtomMain:       propSpecial,
	AtomMarquee:    propSpecial | propScope,
	AtomMenu:       propSpecial,
	AtomMeta:       propSpecial,
	AtomNav:        propSpecial,
	AtomNoembed:    propSpecial,
	AtomNoframes:   propSpecial,
	AtomNoscript:   propSpecial,
	AtomObject:     propSpecial | propScope,
	AtomOl:         propSpecial,
	AtomOptgroup:   propImplied,
	AtomOption:     propImplied,
	AtomP:          propSpecial | propPassable | propImplied,
	AtomParam:      propSpecial,
	AtomPlaintext:  propSpecial,
	AtomPre:        propSpecial,
	AtomRb:         propImplied,
	AtomRp:         propImplied,
	AtomRt:         propImplied,
	AtomRtc:        propImplied,
	AtomScript:     propSpecial,
	AtomSearch:     propSpecial,
	AtomSection:    propSpecial,
	AtomSelect:     propSpecial | propScope,
	AtomSource:     propSpecial,
	AtomStyle:      propSpecial,
	AtomSummary:    propSpecial,
	AtomTable:      propSpecial | propScope | propMode | propTable,
	AtomTbody:      propSpecial | propMode | propThorough | propTable,
	AtomTd:         propSpecial | propScope | propMode | propThorough,
	AtomTemplate:   propSpecial | propScope | propMode,
	AtomTextarea:   propSpecial,
	AtomTfoot:      propSpecial | propMode | propThorough | propTable,
	AtomTh:         propSpecial | propScope | propMode | propThorough,
	AtomThead:      propSpecial | propMode | propThorough | propTable,
	AtomTitle:      propSpecial,
	AtomTr:         propSpecial | propMode | propThorough | propTable,
	AtomTrack:      propSpecial,
	AtomUl:         propSpecial,
	AtomWbr:        propSpecial,
	AtomXmp:        propSpecial,
}

// propsOf returns the categories of an element. Whether annotation-xml is an HTML integration point
// depends on its attributes, which the caller knows.
func propsOf(name Atom, ns Namespace) props {
	switch ns {
	case HTML:
		if name < elementAtoms {
			return htmlProps[name] | propHTML
		}
		return propHTML
	case SVG:
		switch name {
		case AtomForeignObject, AtomDesc, AtomTitle:
			return propSpecial | propScope | propHTMLText
		}
	case MathML:
		switch name {
		case AtomMi, AtomMo, AtomMn, AtomMs, AtomMtext:
			return propSpecial | propScope | propMathText
		case AtomAnnotationXml:
			return propSpecial | propScope | propAnnotation
		}
	}
	return 0
}
