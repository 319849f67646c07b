// Replaces what changes on the page, once a second, by what the server shows now. Without this script reloading the page does the same.
const events = new EventSource("/api/v1/events");
let busy = false;

events.addEventListener("run", async () => {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = page.getElementById(old.id);
      if (!now || old.contains(document.activeElement) && document.activeElement !== old || old.innerHTML === now.innerHTML) continue;
      const open = [...old.querySelectorAll("details[open]")].map((details) => details.dataset.key);
      old.replaceChildren(...now.childNodes);
      for (const details of old.querySelectorAll("details")) details.open = open.includes(details.dataset.key);
    }
  } finally {
    busy = false;
  }
});
