// Below each result of a search, the first words of its page, or of the glossary's entry.
document.addEventListener("DOMContentLoaded", () => {
  const describe = (item) => {
    const link = item.querySelector("a");
    const place = link ? decodeURIComponent(link.getAttribute("href")).replace(".html", "") : "";
    const summary = SUMMARIES[place] || SUMMARIES[place.replace(/[?#].*$/, "")];
    if (summary && !item.querySelector("p")) {
      item.appendChild(document.createElement("p")).textContent = summary;
    }
  };
  const observer = new MutationObserver((changes) => {
    for (const change of changes) {
      for (const node of change.addedNodes) {
        if (node.nodeName === "LI") describe(node);
      }
    }
  });
  observer.observe(document.getElementById("search-results"), { childList: true, subtree: true });
});
