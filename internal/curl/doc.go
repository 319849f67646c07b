// Package curl reads command lines of curl, as browsers copy and people write them, and writes them.
//
//	command, err := curl.Parse(`curl 'https://example.com/' -H 'Accept: */*' --data-raw 'q=1'`, open)
//	line := command.String()
//
// [Words] splits a line by the rules of bash, or of cmd; [Parse] reads the options and makes a [Command], which is one
// request. What an option says of the answer (where it is stored, how it is printed) changes nothing. An option that is
// not known is an error, since it may change the request.
//
// The package stands in the annex, on package forms, which makes the bodies of -F.
package curl
