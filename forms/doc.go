// Package forms reads the forms of a page and makes what a browser would send of them, by the HTML standard (section 4.10.21).
//
//	form, err := forms.Of(doc.CSS("form#login").Nodes()[0], pageURL)
//	form.Set("user", "ada")
//	form.Set("password", secret)
//	form.Click("sign-in")
//	sent, err := form.Submit() // method, URL, Content-Type, body
//
// The flow: [Of] finds the controls of a form, wherever they stand in the page, with the values that they have at first.
// The methods of [Form] fill them in as a person would. [Form.Entries] is the standard's entry list: the pairs of those controls that
// take part. [Form.Submit] writes it in one of the three encodings (application/x-www-form-urlencoded, multipart/form-data,
// text/plain), in the charset that the form or the page asks for. Hidden fields travel by themselves.
//
// What the standard leaves to scripts is not there: elements that scripts define, and listeners of the event submit. What a script
// would add to a form is added by [Form.Add]. A textarea with wrap=hard is sent without the line breaks that a layout would give it.
//
// [Multipart] makes the body of a request that has no form, and [FindCSRF] finds the token of a page that logs in by a script.
package forms
