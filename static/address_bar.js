// Keeps the browser's address and the page's state the same, both ways.

export function render({model}) {
  let rendered = false
  const show = () => {
    if (window.location.search === model.search) { return }
    const address = window.location.pathname + model.search
    if (rendered) { window.history.pushState(null, "", address) } else { window.history.replaceState(null, "", address) }
    rendered = true
  }
  const back = () => model.send_msg({search: window.location.search})
  window.addEventListener("popstate", back)
  model.on("search", show)
  model.on("remove", () => window.removeEventListener("popstate", back))
  show()
  return document.createElement("div")
}
