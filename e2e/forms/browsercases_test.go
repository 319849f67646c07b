package forms_test

import "github.com/tegenaria/tegenaria/forms"

// browserCase is a form that a browser sends, and that we send. The page is sent as it is written here, in the charset that is named.
type browserCase struct {
	name    string
	charset string              // of the Content-Type; "" is utf-8
	page    string              // its form is the first one, unless fill says otherwise
	form    string              // selects the form; "" is form
	script  string              // what the browser does; "" clicks the first button, or submits the form if there is none
	fill    func(f *forms.Form) // what we do; nil: nothing
	differs string              // what the browser sends, where it goes against the standard, and we do not
}

// click is the script that clicks something.
func click(selector string) string { return "document.querySelector(`" + selector + "`).click()" }

// bare is the script that submits the first form without a button.
const bare = "document.querySelector('form').submit()"

// textFiles is a script that gives a file upload text files.
func uploads(selector string, files ...string) string {
	js := "const dt = new DataTransfer();"
	for i := 0; i+2 < len(files); i += 3 {
		js += "dt.items.add(new File([" + files[i+1] + "], " + files[i] + ", {type: " + files[i+2] + "}));"
	}
	return js + "document.querySelector(`" + selector + "`).files = dt.files;" + click("[type=submit]")
}

const go_ = `<input type=submit>`

var browserCases = []browserCase{
	{name: "text", page: `<form action=/got><input name=a value=1><input name=b value="two words"><input name=c>` + go_},
	{name: "post", page: `<form action=/got method=post><input name=a value=1><input name=b value="ü &amp; é+%">` + go_},
	{name: "POST in capitals", page: `<form action=/got method=POST><input name=a value=1>` + go_},
	{name: "unknown method and enctype", page: `<form action=/got method=put enctype=json><input name=a value=1>` + go_},
	{name: "no fields", page: `<form action=/got></form>`},
	{name: "no fields, post", page: `<form action=/got method=post></form>`},
	{name: "query is replaced", page: `<form action="/got?x=1&y=2#frag"><input name=a value=1>` + go_},
	{name: "query stays", page: `<form method=post action="/got?x=1&y=2#frag"><input name=a value=1>` + go_},
	{name: "no action", page: `<form method=post><input name=a value=1>` + go_},
	{name: "empty action", page: `<base href=/elsewhere/><form method=post action=""><input name=a value=1>` + go_},
	{name: "space as action", page: `<base href=/got><form method=post action=" "><input name=a value=1>` + go_},
	{name: "base", page: `<base href=/got/deep/><form action=../x><input name=a value=1>` + go_},
	{name: "safe characters", page: `<form action=/got method=post><input name="*-._~!'()@:/?#[]$,;=+%" value="*-._~!'()@:/?#[]$,;=+% &amp;&lt;&gt;&quot;\^{|}` + "`" + `">` + go_},
	{name: "controls without a name", page: `<form action=/got><input value=1><input name="" value=2><select><option>3</select><textarea>4</textarea><input name=a value=5>` + go_},
	{name: "types", page: `<form action=/got><input name=a type=text value=1><input name=b type=search value=2><input name=c type=tel value=3><input name=d type=password value=4><input name=e type=TEL value=5><input name=f type=unknown value=6><input type=hidden name=g value=7><input name=h type=button value=8><input name=i type=reset value=9>` + go_},
	{name: "url and email", page: `<form action=/got novalidate><input name=a type=url value=" http://x/ "><input name=b type=email value="  x@y  "><input name=c type=email multiple value=" a@b , c@d ,e "><input name=d type=email value="a , b">` + go_},
	{name: "line ends in texts", page: `<form action=/got method=post novalidate><input name=a value="x&#10;y&#13;z"><input type=hidden name=b value="x&#10;y&#13;z&#13;&#10;w"><input type=url name=c value="x&#10;y"><input type=email name=d value="x&#10;y"><input type=checkbox name=e checked value="x&#10;y">` + go_},
	{name: "numbers", page: `<form action=/got novalidate><input type=number name=a value=1.50><input type=number name=b value=abc><input type=number name=c value=1e3><input type=number name=d value=" 1"><input type=number name=e value=.5><input type=number name=f value=+1><input type=number name=g value=1.><input type=number name=h value=-0><input type=number name=i value=1e999>` + go_},
	{name: "ranges", page: `<form action=/got><input type=range name=a><input type=range name=b value=200><input type=range name=c min=10 max=20><input type=range name=d value=7 step=5><input type=range name=e value=x min=0 max=1 step=0.1><input type=range name=f min=100 max=50><input type=range name=g step=any value=3.14159><input type=range name=h min=1 max=10 step=4 value=10><input type=range name=i value=2.5><input type=range name=j min=0 max=5>` + go_},
	{name: "colours", page: `<form action=/got><input type=color name=a><input type=color name=b value=#ABCDEF><input type=color name=c value=nonsense><input type=color name=d value=#12345>` + go_},
	{name: "dates", page: `<form action=/got><input type=date name=a value=2024-02-29><input type=date name=b value=2023-02-29><input type=month name=c value=2024-12><input type=month name=d value=2024-13><input type=week name=e value=2020-W53><input type=week name=f value=2021-W53><input type=time name=g value=23:59><input type=time name=h value=24:00><input type=time name=i value=12:30:15.5><input type=date name=j value=24-1-1>` + go_},
	{name: "local times", page: `<form action=/got><input type=datetime-local name=a value=2024-02-29T12:00><input type=datetime-local name=b value="2024-02-29 12:00:00"><input type=datetime-local name=c value=2024-02-29T12:00:15.500><input type=datetime-local name=d value=2024-02-30T12:00><input type=datetime name=e value=now>` + go_},
	{name: "checkboxes", page: `<form action=/got><input type=checkbox name=a checked><input type=checkbox name=b><input type=checkbox name=c value=x checked><input type=checkbox name=c value=y><input type=checkbox name=c value=z checked><input type=checkbox name=d value="" checked>` + go_},
	{name: "radio buttons", page: `<form action=/got><input type=radio name=a value=1 checked><input type=radio name=a value=2><input type=radio name=b value=1><input type=radio name=c checked><input type=radio name=d value=1 checked><input type=radio name=d value=2 checked>` + go_},
	{name: "select", page: `<form action=/got><select name=a><option>1<option selected>2<option>3</select><select name=b><option value=x>1<option value=y>2</select><select name=c></select><select name=d><option disabled>1<option>2</select><select name=e><option value="">none<option>1</select>` + go_},
	{name: "select with two selected", page: `<form action=/got><select name=a><option selected>1<option selected>2<option>3</select><select name=b><option selected disabled>1<option>2</select><select name=c><option disabled>1</select>` + go_},
	{name: "select of several lines", page: `<form action=/got><select name=a size=3><option>1<option>2</select><select name=b size=1><option>1<option>2</select><select name=c size=x><option>1</select><select name=d size=0><option>1</select>` + go_},
	{name: "select multiple", page: `<form action=/got><select name=a multiple><option selected>1<option>2<option selected>3<option selected disabled>4</select><select name=b multiple><option>1</select>` + go_},
	{name: "optgroup", page: `<form action=/got><select name=a><optgroup label=A disabled><option>1</optgroup><optgroup label=B><option>2<option>3</optgroup></select><select name=b multiple><optgroup disabled><option selected>1</optgroup><optgroup><option selected>2</optgroup></select>` + go_},
	{name: "white space of options", page: "<form action=/got><select name=a><option>  one\n\t two </option></select><select name=b><option value=' x '>y</select><select name=c><option label=L>text</select>" + go_},
	{name: "textarea", page: "<form action=/got method=post><textarea name=a>\nfirst line\nsecond\r\nthird\rfourth</textarea><textarea name=b>\n\n x </textarea><textarea name=c></textarea>" + go_},
	{name: "textarea in a query", page: "<form action=/got><textarea name=a>1\n2</textarea>" + go_},
	{name: "names with line ends", page: `<form action=/got method=post><input name="a&#10;b" value=1><input name="c&#13;&#10;d" value=2><textarea name='e"f'>3</textarea>` + go_},
	{name: "names with line ends, multipart", page: `<form action=/got method=post enctype=multipart/form-data><input name="a&#10;b" value=1><input name="c&#13;&#10;d" value=2><textarea name='e"f'>3` + "\n" + `4</textarea>` + go_},
	{name: "disabled", page: `<form action=/got><input name=a value=1 disabled><input name=b value=2><select name=c disabled><option>1</select><textarea name=d disabled>1</textarea><input name=e readonly value=3><input type=hidden name=f disabled value=4>` + go_},
	{name: "disabled fieldset", page: `<form action=/got><fieldset disabled><legend><input name=a value=1><fieldset><input name=a2 value=1></fieldset></legend><legend><input name=b value=2></legend><input name=c value=3><fieldset><legend><input name=d value=4></legend></fieldset></fieldset><fieldset><input name=e value=5></fieldset>` + go_},
	{name: "disabled fieldsets in each other", page: `<form action=/got><fieldset disabled><fieldset disabled><legend><input name=a value=1></legend></fieldset><div><legend><input name=b value=1></legend></div></fieldset><fieldset disabled><div></div><legend><input name=c value=3></legend></fieldset>` + go_},
	{name: "datalist", page: `<form action=/got><input name=a list=l value=x><datalist id=l><option value=1><option>2</option><input name=b value=1><select name=c><option>1</select></datalist>` + go_,
		differs: "GET /got?a=x&b=1&c=1\n\n\"\""}, // section 4.10.21.4, step 5.1: what is in a datalist takes no part,
	{name: "form attribute", page: `<input name=before form=f value=1><form id=f action=/got><input name=a value=2><input name=b form=other value=3><input name=c form="" value=4>` + go_ + `</form><form id=other><input name=d form=f value=5></form><input name=after form=f value=6><input name=no value=7>`},
	{name: "ids that are taken", page: `<div id=f></div><form id=f action=/got><input name=a value=1>` + go_ + `</form><input name=b form=f value=2>`},
	{name: "form in a table", page: `<table><form action=/got><tr><td><input name=a value=1></td></tr><tr><td><input name=b value=2>` + go_ + `</td></tr></form><tr><td><input name=c value=3></table><input name=d value=4>`},
	{name: "form closed inside", page: `<div><form action=/got><p><input name=a value=1></div><input name=b value=2>` + go_ + `</form><input name=c value=3>`},
	{name: "form in a form", page: `<form action=/got><input name=a value=1><form action=/no><input name=b value=2></form><input name=c value=3>` + "<input type=submit form=x></form><div></div>", script: bare, fill: func(f *forms.Form) { f.Click("") }},
	{name: "controls moved out of a table", page: `<form action=/got><table><input name=a value=1><tr><input name=b value=2><td><input name=c value=3></table>` + go_ + `</form>`},
	{name: "template", page: `<form action=/got><template><input name=a value=1></template><input name=b value=2>` + go_},
	{name: "button", page: `<form action=/got><input name=a value=1><button name=b value=x>Send</button><button name=c value=y>Other</button></form>`},
	{name: "second button", page: `<form action=/got><input name=a value=1><button name=b value=x>Send</button><button name=c value=y>Other</button></form>`,
		script: click("[name=c]"), fill: func(f *forms.Form) { f.Click("c") }},
	{name: "buttons of one name", page: `<form action=/got><button name=b value=x>One</button><button name=b value=y>Two</button></form>`,
		script: click("[value=y]"), fill: func(f *forms.Form) { f.Click("Two") }},
	{name: "without a button", page: `<form action=/got><input name=a value=1><button name=b value=x>Send</button></form>`, script: bare, fill: func(f *forms.Form) { f.Click("") }},
	{name: "labels of buttons", page: `<form action=/got><input type=submit name=s></form>`},
	{name: "empty label", page: `<form action=/got><input type=submit name=s value=""></form>`},
	{name: "button without a value", page: `<form action=/got><button name=s>text</button></form>`},
	{name: "buttons that are none", page: `<form action=/got><button type=button name=a value=1></button><button type=reset name=b value=2></button><button type=nonsense name=c value=3>`},
	{name: "action of a button", page: `<form action=/no method=get><input name=a value=1><button formaction="/got?x=1" formmethod=post formenctype=text/plain name=b value=2>`,
		differs: "POST /got?x=1\ntext/plain\n\"a=1&b=2\""}, // the same enctype of the form gives lines, as the standard has it,
	{name: "method of a button", page: `<form action=/got method=post enctype=multipart/form-data><input name=a value=1><input type=submit formmethod=nonsense name=b value=2>`},
	{name: "enctype of a button", page: `<form action=/got method=post enctype=multipart/form-data><input name=a value=1><input type=submit formenctype=nonsense name=b value=2>`},
	{name: "empty action of a button", page: `<form action=/no method=post><input name=a value=1><input type=submit formaction="" name=b value=2>`},
	{name: "picture", page: `<form action=/got><input name=a value=1><input type=image name=i value=v alt=x></form>`, script: click("[type=image]"), fill: func(f *forms.Form) { f.Click("i") }},
	{name: "picture without a name", page: `<form action=/got method=post><input name=a value=1><input type=image></form>`, script: click("[type=image]")},
	{name: "place in a picture", page: `<style>body{margin:0}</style><form action=/got><input type=image name=i width=40 height=30 style="position:absolute;left:0;top:0;padding:0;border:0" src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="></form>`,
		script: "mouse 7 5", fill: func(f *forms.Form) { f.ClickAt("i", 7, 5) }},
	{name: "multipart", page: `<form action=/got method=post enctype=multipart/form-data><input name=a value="ü"><input type=checkbox name=b checked><textarea name=c>1` + "\n" + `2</textarea>` + go_},
	{name: "no file", page: `<form action=/got method=post enctype=multipart/form-data><input type=file name=f><input name=a value=1>` + go_},
	{name: "no file, urlencoded", page: `<form action=/got method=post><input type=file name=f><input type=file multiple name=g><input name=a value=1>` + go_},
	{name: "file", page: `<form action=/got method=post enctype=multipart/form-data><input type=file name=f><input name=a value=1>` + go_,
		script: uploads("[name=f]", "'a.txt'", "'one\\ntwo'", "'text/plain'"),
		fill:   func(f *forms.Form) { f.Upload("f", forms.File{Name: "a.txt", Data: []byte("one\ntwo")}) }},
	{name: "several files", page: `<form action=/got method=post enctype=multipart/form-data><input type=file name=f multiple>` + go_,
		script: uploads("[name=f]", "'ü\"x.bin'", "new Uint8Array([0,255,13,10])", "''", "'b.png'", "'PNG'", "'image/png'"),
		fill: func(f *forms.Form) {
			f.Upload("f", forms.File{Name: `ü"x.bin`, Data: []byte{0, 255, 13, 10}}, forms.File{Name: "b.png", Data: []byte("PNG")})
		}},
	{name: "files in a query", page: `<form action=/got enctype=multipart/form-data><input type=file name=f>` + go_,
		script: uploads("[name=f]", "'a b.txt'", "'one'", "''"), fill: func(f *forms.Form) { f.Upload("f", forms.File{Name: "a b.txt"}) }},
	{name: "text/plain", page: `<form action=/got method=post enctype=text/plain><input name=a value="x = y &amp; z"><textarea name=b>1` + "\n" + `2</textarea><input name="n&#10;m" value=ü>` + go_},
	{name: "text/plain in a query", page: `<form action=/got enctype=text/plain><input name=a value="x = y">` + go_},
	{name: "_charset_", page: `<form action=/got><input type=hidden name=_charset_><input type=hidden name=_Charset_ value=x><input name=_charset_ value=y><input name=a value=ü>` + go_},
	{name: "page in latin1", charset: "iso-8859-1", page: "<form action=/got><input type=hidden name=_charset_><input name=a value='\xfc &euro; &#x4e2d;'>" + go_},
	{name: "page in latin1, multipart", charset: "iso-8859-1", page: "<form action=/got method=post enctype=multipart/form-data><input name='\xfc' value='\xfc &euro; &#x4e2d;'><input type=file name=f>" + go_,
		script: uploads("[name=f]", "'ü中.txt'", "'x'", "''"), fill: func(f *forms.Form) {
			f.Upload("f", forms.File{Name: "ü中.txt", Data: []byte("x"), Type: "application/octet-stream"})
		}},
	{name: "page in latin1, text/plain", charset: "iso-8859-1", page: "<form action=/got method=post enctype=text/plain><input name='\xfc' value='\xfc &euro; &#x4e2d;'>" + go_},
	{name: "page in koi8-r, action with a query", charset: "koi8-r", page: "<form method=post action='/got?\xc1\xc2'><input name=a value='\xc1\xc2 \xa3'>" + go_},
	{name: "page in Shift_JIS", charset: "shift_jis", page: "<form action=/got><input name=a value='\x93\xfa\x96\x7b ~\\ &#xfc;'>" + go_},
	{name: "page in ISO-2022-JP", charset: "iso-2022-jp", page: "<form action=/got><input name=a value='x\x1b$BF|K\\\x1b(By &#xfc; z'>" + go_},
	{name: "page in GBK", charset: "gbk", page: "<form action=/got><input name=a value='\xd6\xd0 &euro; &#x1f600;'>" + go_},
	{name: "page in UTF-16", charset: "utf-16le", page: "<\x00f\x00o\x00r\x00m\x00 \x00a\x00c\x00t\x00i\x00o\x00n\x00=\x00/\x00g\x00o\x00t\x00>\x00<\x00i\x00n\x00p\x00u\x00t\x00 \x00n\x00a\x00m\x00e\x00=\x00a\x00 \x00v\x00a\x00l\x00u\x00e\x00=\x00\xfc\x00>\x00"},
	{name: "accept-charset", page: `<form action=/got accept-charset="nonsense iso-8859-2 utf-8"><input type=hidden name=_charset_><input name=a value="ü ł €">` + go_},
	{name: "accept-charset, unknown", charset: "iso-8859-1", page: "<form action=/got accept-charset=nonsense><input type=hidden name=_charset_><input name=a value='\xfc'>" + go_},
	{name: "accept-charset, commas", page: `<form action=/got accept-charset="x,windows-1251,utf-8"><input type=hidden name=_charset_><input name=a value="ü я">` + go_},
	{name: "dirname", page: `<form action=/got><input name=a dirname=a.dir value=x><input name=b dirname=b.dir dir=rtl><input name=c dirname=c.dir dir=auto value="עברית"><textarea name=d dirname=d.dir dir=auto>123 abc</textarea><div dir=rtl><input name=e dirname=e.dir><input type=tel name=f dirname=f.dir></div><input type=number name=g dirname=g.dir><input type=hidden name=h dirname=h.dir>` + go_},
	{name: "empty dirname", page: `<form action=/got><input name=a dirname="">` + go_,
		differs: "GET /got?a=&=ltr\n\n\"\""}, // step 5.12: the attribute's value is not the empty string
	{name: "invalid characters", page: "<form action=/got method=post><input name=a value='\xff\x80 &#0; &#xD800; &#x80;'>" + go_},
	{name: "filled in", page: `<form action=/got method=post><input name=user><input type=password name=password><input type=hidden name=token value=t7><input type=checkbox name=stay><select name=lang><option value=en>English<option value=fr>French</select><input type=radio name=size value=s><input type=radio name=size value=l checked><textarea name=note>old</textarea><button name=go value=in>Sign in</button></form>`,
		script: `const f = document.querySelector('form').elements; f.user.value = 'ada\nl'; f.password.value = 's e&c=r"t'; f.stay.checked = true; f.lang.value = 'fr'; f.size.value = 's'; f.note.value = 'a\r\nb\nc'; f.go.click()`,
		fill: func(f *forms.Form) {
			f.Set("user", "ada\nl")
			f.Set("password", `s e&c=r"t`)
			f.Check("stay")
			f.Choose("lang", "French")
			f.Choose("size", "s")
			f.Set("note", "a\r\nb\nc")
			f.Click("Sign in")
		}},
	{name: "checked and unchecked", page: `<form action=/got><input type=checkbox name=a value=1 checked><input type=checkbox name=a value=2><select name=s multiple><option selected>1<option>2<option>3</select>` + go_,
		script: `document.querySelector('[value="1"]').checked = false; document.querySelector('[value="2"]').checked = true; const o = document.querySelector('select').options; o[0].selected = false; o[1].selected = o[2].selected = true;` + click("[type=submit]"),
		fill: func(f *forms.Form) {
			f.Uncheck("a", "1")
			f.Check("a", "2")
			f.Set("s", "2", "3")
		}},
	{name: "typed dates and numbers", page: `<form action=/got novalidate><input type=number name=a><input type=date name=b><input type=range name=c><input type=color name=d><input type=datetime-local name=e>` + go_,
		script: `const f = document.querySelector('form').elements; f.a.value = '2.5'; f.b.value = '2024-02-29'; f.c.value = '33.3'; f.d.value = '#ABC123'; f.e.value = '2024-02-29 10:00:00';` + click("[type=submit]"),
		fill: func(f *forms.Form) {
			f.Set("a", "2.5")
			f.Set("b", "2024-02-29")
			f.Set("c", "33.3")
			f.Set("d", "#ABC123")
			f.Set("e", "2024-02-29 10:00:00")
		}},
	{name: "fields of a script", page: `<form action=/got><input name=a value=1></form>`,
		script: `const f = document.querySelector('form'); for (const v of ['x', 'y']) { const i = document.createElement('input'); i.name = 'more'; i.value = v; f.append(i) }; f.submit()`,
		fill:   func(f *forms.Form) { f.Add("more", "x", "y") }},
	{name: "second form", form: "form#b", page: `<form action=/no><input name=a value=1></form><form id=b action=/got><input name=a value=2></form>`, script: `document.getElementById('b').submit()`},
}
