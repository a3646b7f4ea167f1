// Below each result of a search, the first words of its page.
document.addEventListener("DOMContentLoaded", () => {
  const describe = (item) => {
    const link = item.querySelector("a");
    const page = link && link.getAttribute("href").replace(/\.html.*$/, "");
    if (page && SUMMARIES[page] && !item.querySelector("p")) {
      item.appendChild(document.createElement("p")).textContent = SUMMARIES[page];
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
