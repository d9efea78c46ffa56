// The search of the documentation, which works without a server as well: the index is a script.
(function () {
  const field = document.getElementById("mkdocs-search-query");
  const list = document.getElementById("mkdocs-search-results");
  if (!field) { return; }
  const address = (path) => new URL(path, new URL(base_url + "/", location.href)).href;

  function load(path, then) {
    const script = document.createElement("script");
    script.src = address(path);
    script.onload = then;
    document.head.append(script);
  }

  function article(found) {
    const link = document.createElement("a");
    link.href = address(found.location);
    link.textContent = found.title;
    const heading = document.createElement("h3");
    heading.append(link);
    const summary = document.createElement("p");
    summary.textContent = found.text.slice(0, 200);
    const whole = document.createElement("article");
    whole.append(heading, summary);
    return whole;
  }

  function start() {
    const documents = new Map(searched.docs.map((each) => [each.location, each]));
    const index = lunr(function () {
      this.ref("location");
      this.field("title", { boost: 10 });
      this.field("text");
      searched.docs.forEach((each) => this.add(each));
    });
    function show() {
      const words = lunr.tokenizer(field.value).map(String);
      const found = words.length === 0 ? [] : index.query((query) => words.forEach((word) => {
        query.term(lunr.stemmer(new lunr.Token(word)).toString(), { boost: 10 });
        query.term(word, { wildcard: lunr.Query.wildcard.TRAILING });
      }));
      list.replaceChildren(...found.slice(0, 50).map((each) => article(documents.get(each.ref))));
      if (found.length === 0) { list.textContent = list.dataset.noResultsText; }
    }
    field.value = new URLSearchParams(location.search).get("q") || "";
    field.addEventListener("input", show);
    show();
  }

  load("search/lunr.js", () => load("search/index.js", start));
})();
