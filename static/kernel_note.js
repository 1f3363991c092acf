// Says so when no kernel answers: in a page that was saved, and once the kernel is gone.
//
// It asks when it is drawn, and whenever a person does something in the explorer around it.
// What is not answered in time is shown as a note; the next answer takes the note away.

const FIRST_WAIT = 1500
const LATER_WAIT = 5000

const parent_of = (node) => node.parentNode ?? node.host ?? null

const page_around = (node) => {
  for (let at = node; at !== null; at = parent_of(at)) {
    if (at.classList?.contains("dx-page")) { return at }
  }
  return null
}

const theme_of_host = () => {
  const body = document.body?.dataset ?? {}
  return body.jpThemeLight === "false" || (body.vscodeThemeKind ?? "").includes("dark") ? "dark" : "light"
}

export function render({model}) {
  const root = document.createElement("div")
  root.className = "dx"
  let asked = 0
  let timer = null
  let has_answered = false

  const note = () => root.querySelector(".dx-notice")
  const show = () => {
    clearTimeout(timer)
    timer = null
    if (note() !== null) { return }
    root.innerHTML = has_answered ? model.gone : model.picture
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
    root.replaceChildren()
  })
  model.on("remove", () => {
    clearTimeout(timer)
    for (const name of ["click", "change"]) { window.removeEventListener(name, on_act, true) }
  })
  // the first answer brings the theme of the notebook around
  setTimeout(ask, 0)
  return root
}
