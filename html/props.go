package html

// props are the categories of elements that the rules of tree construction ask for, of an element on
// the stack of open elements.
type props uint16

const (
	propHTML       props = 1 << iota // in the namespace of HTML
	propSpecial                      // the special category, section 13.2.4.2
	propStop                         // special, and ends the search for an open li, dd or dt
	propScope                        // ends "has an element in scope"
	propMode                         // decides the insertion mode, section 13.2.4.1
	propImplied                      // has an implied end tag, section 13.2.6.3
	propThorough                     // the same, thoroughly
	propTable                        // nothing but parts of a table can be inserted into it
	propMathText                     // a MathML text integration point, section 13.2.6
	propHTMLText                     // an HTML integration point
	propAnnotation                   // MathML's annotation-xml
	propEndRule                      // its end tag does more than end it
)

// special is what most special elements of HTML are; address, div and p do not stop the search.
const special = propSpecial | propStop

// htmlProps has the categories of the elements of HTML.
var htmlProps = [elementAtoms]props{
	AtomAddress:    propSpecial,
	AtomApplet:     special | propScope | propEndRule,
	AtomArea:       special,
	AtomArticle:    special,
	AtomAside:      special,
	AtomBase:       special,
	AtomBasefont:   special,
	AtomBgsound:    special,
	AtomBlockquote: special,
	AtomBody:       special | propMode | propEndRule,
	AtomBr:         special,
	AtomButton:     special,
	AtomCaption:    special | propScope | propMode | propThorough | propEndRule,
	AtomCenter:     special,
	AtomCol:        special,
	AtomColgroup:   special | propMode | propThorough | propEndRule,
	AtomDd:         special | propImplied,
	AtomDetails:    special,
	AtomDir:        special,
	AtomDiv:        propSpecial,
	AtomDl:         special,
	AtomDt:         special | propImplied,
	AtomEmbed:      special,
	AtomFieldset:   special,
	AtomFigcaption: special,
	AtomFigure:     special,
	AtomFooter:     special,
	AtomForm:       special | propEndRule,
	AtomFrame:      special,
	AtomFrameset:   special | propMode | propEndRule,
	AtomH1:         special,
	AtomH2:         special,
	AtomH3:         special,
	AtomH4:         special,
	AtomH5:         special,
	AtomH6:         special,
	AtomHead:       special | propMode | propEndRule,
	AtomHeader:     special,
	AtomHgroup:     special,
	AtomHr:         special,
	AtomHtml:       special | propScope | propMode | propEndRule,
	AtomIframe:     special,
	AtomImg:        special,
	AtomInput:      special,
	AtomKeygen:     special,
	AtomLi:         special | propImplied,
	AtomLink:       special,
	AtomListing:    special,
	AtomMain:       special,
	AtomMarquee:    special | propScope | propEndRule,
	AtomMenu:       special,
	AtomMeta:       special,
	AtomNav:        special,
	AtomNoembed:    special,
	AtomNoframes:   special,
	AtomNoscript:   special,
	AtomObject:     special | propScope | propEndRule,
	AtomOl:         special,
	AtomOptgroup:   propImplied,
	AtomOption:     propImplied,
	AtomP:          propSpecial | propImplied,
	AtomParam:      special,
	AtomPlaintext:  special,
	AtomPre:        special,
	AtomRb:         propImplied,
	AtomRp:         propImplied,
	AtomRt:         propImplied,
	AtomRtc:        propImplied,
	AtomScript:     special,
	AtomSearch:     special,
	AtomSection:    special,
	AtomSelect:     special | propScope,
	AtomSource:     special,
	AtomStyle:      special,
	AtomSummary:    special,
	AtomTable:      special | propScope | propMode | propTable | propEndRule,
	AtomTbody:      special | propMode | propThorough | propTable | propEndRule,
	AtomTd:         special | propScope | propMode | propThorough | propEndRule,
	AtomTemplate:   special | propScope | propMode | propEndRule,
	AtomTextarea:   special,
	AtomTfoot:      special | propMode | propThorough | propTable | propEndRule,
	AtomTh:         special | propScope | propMode | propThorough | propEndRule,
	AtomThead:      special | propMode | propThorough | propTable | propEndRule,
	AtomTitle:      special,
	AtomTr:         special | propMode | propThorough | propTable | propEndRule,
	AtomTrack:      special,
	AtomUl:         special,
	AtomWbr:        special,
	AtomXmp:        special,
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
			return propSpecial | propStop | propScope | propHTMLText
		}
	case MathML:
		switch name {
		case AtomMi, AtomMo, AtomMn, AtomMs, AtomMtext:
			return propSpecial | propStop | propScope | propMathText
		case AtomAnnotationXml:
			return propSpecial | propStop | propScope | propAnnotation
		}
	}
	return 0
}
