// Says so when no kernel answers: in a page that was saved, and once the kernel is gone.
//
// It asks when it is drawn, and whenever a person does something in the explorer around it.
// What is not answered in time is shown as a note; the next answer takes the note away.
// In a page that no kernel has answered, what would ask one is switched off.

const FIRST_WAIT = 1500
const LATER_WAIT = 5000

// A large page is still being drawn when the note is there already.
const ROUND = 1000
const ROUNDS = 20

const ASKING = "button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [data-do]:not([aria-disabled])"
// these do their work in the browser
const OWN = "[data-copy], [data-own]"

const parent_of = (node) => node.parentNode ?? node.host ?? null

const page_around = (node) => {
  for (let at = node; at !== null; at = parent_of(at)) {
    if (at.classList?.contains("dx-page")) { return at }
  }
  return null
}

const find_asking = (node, found) => {
  for (const one of node.querySelectorAll(ASKING)) { if (!one.matches(OWN)) { found.push(one) } }
  for (const one of node.querySelectorAll("*")) { if (one.shadowRoot !== null) { find_asking(one.shadowRoot, found) } }
  return found
}

const switch_off = (one) => {
  const [title, cursor] = [one.getAttribute("title"), one.style.cursor]
  if ("disabled" in one) { one.disabled = true } else { one.style.cursor = "default" }
  one.setAttribute("aria-disabled", "true")
  one.title = "No kernel answers here"
  return () => {
    if ("disabled" in one) { one.disabled = false } else { one.style.cursor = cursor }
    one.removeAttribute("aria-disabled")
    if (title === null) { one.removeAttribute("title") } else { one.title = title }
  }
}

const theme_of_host = () => {
  const body = document.body?.dataset ?? {}
  return body.jpThemeLight === "false" || (body.vscodeThemeKind ?? "").includes("dark") ? "dark" : "light"
}

export function render({model}) {
  for (const [weight, address] of model.fonts) {
    if ([...document.fonts].some((one) => one.family === "Roboto" && one.weight === weight)) { continue }
    document.fonts.add(new FontFace("Roboto", `url(${address})`, {weight}))
  }
  const root = document.createElement("div")
  root.className = "dx"
  let asked = 0
  let timer = null
  let has_answered = false

  let switched_off = []
  let rounds = null

  const still = (left) => {
    const page = page_around(root)
    if (page !== null) { switched_off.push(...find_asking(page.shadowRoot ?? page, []).map(switch_off)) }
    rounds = left > 0 ? setTimeout(still, ROUND, left - 1) : null
  }
  const stir = () => {
    clearTimeout(rounds)
    switched_off.forEach((switch_on) => switch_on())
    switched_off = []
  }

  const note = () => root.querySelector(".dx-notice")
  const show = () => {
    clearTimeout(timer)
    timer = null
    if (note() !== null) { return }
    root.innerHTML = has_answered ? model.gone : model.picture
    if (!has_answered) { still(ROUNDS) }
  }
  const ask = () => {
    asked += 1
    if (timer === null) { timer = setTimeout(show, has_answered ? LATER_WAIT : FIRST_WAIT) }
    // a comm that its kernel has closed refuses to send
    try { model.send_msg({ask: asked, theme: theme_of_host()}) } catch { show() }
  }

  const on_act = (event) => {
    const page = page_around(root)
    if (page === null || !event.composedPath().includes(page)) { return }
    note()?.scrollIntoView({block: "nearest"})
    ask()
  }
  for (const name of ["click", "change"]) { window.addEventListener(name, on_act, true) }

  model.on("msg:custom", ({answer}) => {
    if (answer !== asked) { return }
    clearTimeout(timer)
    timer = null
    has_answered = true
    stir()
    root.replaceChildren()
  })
  model.on("remove", () => {
    clearTimeout(timer)
    clearTimeout(rounds)
    for (const name of ["click", "change"]) { window.removeEventListener(name, on_act, true) }
  })
  // the first answer brings the theme of the notebook around
  setTimeout(ask, 0)
  return root
}
