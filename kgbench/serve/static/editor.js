// SPDX-License-Identifier: Apache-2.0
// Replaces the plain query form by YASGUI, if the build includes it.
(() => {
  "use strict";
  const place = document.getElementById("yasgui");
  if (!place || typeof Yasgui === "undefined") return;
  const endpoint = new URL(place.dataset.endpoint, window.location.href).href;
  const prefixes = JSON.parse(place.dataset.prefixes);
  // Suggestions come from this store only, without requests to other hosts.
  Yasgui.Yasqe.defaults.autocompleters = ["prefixes", "variables"];
  Yasgui.Yasqe.Autocompleters.prefixes.get = () =>
    Promise.resolve(Object.entries(prefixes).map(([name, iri]) => `${name}: <${iri}>`).sort());
  Yasgui.Yasr.defaults.prefixes = prefixes;
  const yasgui = new Yasgui(place, {
    requestConfig: { endpoint, method: "POST" },
    copyEndpointOnNewTab: false,
    endpointCatalogueOptions: { getData: () => [{ endpoint }] },
    persistenceId: null,
  });
  const tab = yasgui.getTab();
  tab.setEndpoint(endpoint);
  tab.setQuery(place.dataset.query);
  const plain = document.getElementById("plain");
  if (plain) plain.hidden = true;
})();
