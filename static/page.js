// Before anything is drawn: the theme that a person chose, else the system's; and whether the
// drawer of the navigation begins open.
(() => {
  const root = document.documentElement
  const is_narrow = () => window.matchMedia("(max-width: 700px)").matches
  let chosen
  try { chosen = document.cookie.match(/(?:^|; )delta-explorer-theme=(dark|light)-chosen(?:;|$)/)?.[1] } catch { /* the system's */ }
  const prefers_dark = window.matchMedia("(prefers-color-scheme: dark)").matches
  root.dataset.theme = chosen ?? (prefers_dark ? "dark" : "light")
  // so that the server knows it when it is asked for what is drawn; see `address_bar.js`
  if (chosen === undefined) {
    const folder = window.location.pathname.replace(/[^/]*$/, "")
    let is_kept = false
    try {
      document.cookie = `delta-explorer-theme=${root.dataset.theme}; path=${folder}; max-age=31536000; samesite=lax`
      is_kept = document.cookie.includes("delta-explorer-theme=")
    } catch { /* as below */ }
    // a browser that keeps no cookie says it in the address of the page's socket
    if (!is_kept && prefers_dark) {
      globalThis.WebSocket = class extends WebSocket {
        constructor(address, protocols) {
          super(`${address}${String(address).includes("?") ? "&" : "?"}delta-explorer-theme=dark`, protocols)
        }
      }
    }
  }

  // the components of the page adopt this one sheet
  globalThis.dxStyle = new CSSStyleSheet()
  globalThis.dxStyle.replaceSync(document.getElementById("dx-style").textContent)

  // what Panel loads the modules of components by
  globalThis.importShim = Object.assign((url) => import(url), {addImportMap: () => {}})

  const open = (is_open) => {
    root.dataset.drawer = is_open ? "open" : "closed"
    document.querySelector(".menu")?.setAttribute("aria-expanded", String(is_open))
  }
  open(!is_narrow())
  // once: the loader of modules tells it again
  document.addEventListener("DOMContentLoaded", () => {
    const menu = document.querySelector(".menu")
    open(!is_narrow())
    menu?.addEventListener("click", () => open(root.dataset.drawer !== "open"))
    // whoever has chosen where to go wants to see it
    document.querySelector(".drawer")?.addEventListener("click", (event) => {
      if (is_narrow() && event.composedPath().some((node) => node.localName === "a")) { open(false) }
    })
    document.querySelector("main").addEventListener("click", () => { if (is_narrow()) { open(false) } })
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && is_narrow() && root.dataset.drawer === "open") { open(false); menu?.focus() }
    })
    window.matchMedia("(max-width: 700px)").addEventListener("change", (query) => open(!query.matches))
  }, {once: true})
})()
