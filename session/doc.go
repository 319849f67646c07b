// Package session gives the requests of a crawl identities: a session has cookies, a proxy, header fields and a login of its own.
//
//	sessions := session.NewPool(session.Options{Size: 20, Proxies: proxies})
//	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithMiddlewares(sessions), …)
//
// A [Pool] is a middleware. It has two kinds of sessions:
//
//   - Those with a name, as "alice", are the accounts of the program. A request names its session by [As]. A session with a name is never
//     replaced: when its login is over its requests wait until it has logged in again.
//   - Those without a name stand for visitors. Requests that name no session get one of them, [Options].Size at most.
//     One that a site blocks is thrown away with its cookies, and a new one takes its place.
//
// One request of a session is sent at a time, unless [Options].Concurrency says otherwise; the requests of one session
// with a name hold up no others. Redirects, requests of Fetch, forms and files stay in the session of the page that
// they come from; other requests do not.
//
// A durable job keeps its sessions: a run that goes on after a crash is still logged in.
package session
