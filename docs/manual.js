// Blocks of code: the theme gives their buttons a landmark without a name, and lets a keyboard scroll
// a block only where a mouse is and only after the block was in view.
function mendBlocks() {
  for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    nav.setAttribute("aria-label", `Block ${nav.parentElement.id.replace(/\D/g, "")}`);
  }
  for (const code of document.querySelectorAll("pre > code:not([tabindex])")) {
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
  }
}
const changes = { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] };
new MutationObserver(mendBlocks).observe(document.body, changes);
addEventListener("resize", mendBlocks);
mendBlocks();
