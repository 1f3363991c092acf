// Keeps the browser's address and the page's state the same, both ways; and the theme:
// it begins as the person chose it last, else as the system prefers it. The server hears of
// that with the next page that it is asked for, so that none of it is drawn in the other one.

const THEME = "delta-explorer-theme"

const remembered = () => {
  try { return window.localStorage.getItem(THEME) } catch { return null }
}
const remember = (theme) => {
  try { window.localStorage.setItem(THEME, theme) } catch { /* the next page asks the system */ }
}

const tell_server = (theme) => {
  const folder = window.location.pathname.replace(/[^/]*$/, "")
  document.cookie = `${THEME}=${theme}; path=${folder}; max-age=31536000; samesite=strict`
}

export function render({model}) {
  // The first place that the page tells of is what its link means, and no step from there.
  let settled = false
  // How often Back and Forward have led somewhere. Who presses them twice is ahead of the
  // page's answer to the first, which must not be taken for a new place.
  let turn = model.place[0]
  const show = () => {
    const [followed, search] = model.place
    if (search === null || followed < turn) { return }
    const is_step = settled
    settled = true
    if (window.location.search === search) { return }
    const address = window.location.pathname + search
    if (is_step) { window.history.pushState(null, "", address) } else { window.history.replaceState(null, "", address) }
  }
  const back = () => {
    turn += 1
    model.send_msg({search: window.location.search, turn})
  }
  window.addEventListener("popstate", back)
  const prefers_dark = window.matchMedia("(prefers-color-scheme: dark)").matches
  const begun = remembered() ?? (prefers_dark ? "dark" : "light")
  let asked = (begun === "dark") !== model.dark
  if (asked) { model.send_msg({theme: begun}) }
  tell_server(begun)
  model.on("dark", () => {
    const theme = model.dark ? "dark" : "light"
    tell_server(theme)
    // what was asked for here is no choice of a person
    if (asked) { asked = false } else { remember(theme) }
  })
  model.on("place", show)
  model.on("remove", () => window.removeEventListener("popstate", back))
  show()
  return document.createElement("div")
}
