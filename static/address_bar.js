// Keeps the browser's address and the page's state the same, both ways; and the theme:
// it begins as the person chose it last, else as the system prefers it. A cookie has it, so
// that the server draws the next page in it at once.

const THEME = "delta-explorer-theme"

// the theme that a person chose, if one did
const chosen = () => {
  try {
    return document.cookie.match(`(?:^|; )${THEME}=(dark|light)-chosen(?:;|$)`)?.[1]
  } catch { return undefined }
}
const keep = (theme, is_chosen) => {
  const folder = window.location.pathname.replace(/[^/]*$/, "")
  const value = is_chosen ? `${theme}-chosen` : theme
  try {
    document.cookie = `${THEME}=${value}; path=${folder}; max-age=31536000; samesite=lax`
  } catch { /* the next page asks the system */ }
}

export function render({model}) {
  // The first place that the page tells of is what its link means, and no step from there.
  let settled = false
  // How often Back and Forward have led somewhere. Who presses them twice is ahead of the
  // page's answer to the first, which must not be taken for a new place.
  let turn = model.place[0]
  const show = () => {
    const [followed, search, typed_on] = model.place
    if (search === null || followed < turn) { return }
    const is_step = settled && !typed_on
    settled = true
    if (window.location.search === search) { return }
    const address = window.location.pathname + search
    if (is_step) { window.history.pushState(null, "", address) } else { window.history.replaceState(null, "", address) }
  }
  const back = () => {
    turn += 1
    settled = true  // whoever went somewhere knows where the page is
    model.send_msg({search: window.location.search, turn})
  }
  window.addEventListener("popstate", back)
  const prefers_dark = window.matchMedia("(prefers-color-scheme: dark)").matches
  let is_chosen = chosen() !== undefined
  const begun = chosen() ?? (prefers_dark ? "dark" : "light")
  const paint = (theme) => { document.documentElement.dataset.theme = theme }
  paint(begun)
  let asked = (begun === "dark") !== model.dark
  if (asked) { model.send_msg({theme: begun}) }
  keep(begun, is_chosen)
  model.on("dark", () => {
    // what was asked for here is no choice of a person
    if (asked) { asked = false } else { is_chosen = true }
    keep(model.dark ? "dark" : "light", is_chosen)
    paint(model.dark ? "dark" : "light")
  })
  // tabs, steps back and bookmarks are told apart by it
  const own = document.title
  const name = () => { document.title = model.title || own }
  model.on("place", show)
  model.on("title", name)
  model.on("remove", () => window.removeEventListener("popstate", back))
  show()
  name()
  return document.createElement("div")
}
