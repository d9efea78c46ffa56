// SPDX-License-Identifier: Apache-2.0
// Updates pages about work in progress: fetches the element with data-live (an interval in seconds)
// again and replaces it if it has changed, until the page has no such element.
(() => {
  "use strict";
  const part = () => document.querySelector("[data-live]");
  let tag = null;

  const look = async () => {
    const old = part();
    if (!old) return;
    if (!document.hidden) {
      try {
        const headers = { Accept: "text/html" };
        if (tag) headers["If-None-Match"] = tag;
        const response = await fetch(window.location.href, { headers, cache: "no-store" });
        if (response.ok) {
          tag = response.headers.get("ETag");
          const text = await response.text();
          const page = new DOMParser().parseFromString(text, "text/html");
          const fresh = page.querySelector("[data-live]");
          if (!fresh) {
            window.location.reload();
            return;
          }
          if (fresh.outerHTML !== old.outerHTML && !old.contains(document.activeElement)) {
            old.replaceWith(document.importNode(fresh, true));
            part().classList.add("live-fresh");
          }
        }
      } catch {
        // The server is unreachable; the next request may succeed.
      }
    }
    wait();
  };

  const wait = () => {
    const current = part();
    if (current) window.setTimeout(look, 1000 * Number(current.dataset.live));
  };

  wait();
})();
