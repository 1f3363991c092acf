// HTML that the server has built and escaped, and what a person does in it.
//
// [data-do] sends {action, value} on click, Enter or (inputs) after typing,
// with data-when="enter" only then;
// [data-key] is clicked by that key anywhere on the page; [data-copy] copies
// the text of the element with that id; the last [data-reveal] is scrolled into view when
// its value is new; [data-greet] sends the host's theme once, if anyone listens.
// [data-submit] sends the named fields of its [data-form] as JSON, and can be pressed once
// each field that is required or [data-expected] holds what it must.

const TYPING_PAUSE = 250
const EDITABLE = "input, textarea, select, [contenteditable]"

export function render({model}) {
  const root = document.createElement("div")
  root.className = "dx"
  let timer = null
  let revealed = null

  const send = (element, value) => {
    clearTimeout(timer)
    model.send_msg({action: element.dataset.do, value: value ?? element.dataset.value ?? ""})
  }

  const fields_of = (form) => [...form.querySelectorAll("[name]")]
  const collect = (form) => JSON.stringify(Object.fromEntries(fields_of(form).map((field) => [field.name, field.value])))
  const is_filled = (field) =>
    (field.dataset.expected ?? field.value) === field.value && (!field.required || field.value.trim() !== "")
  const check = (form) => {
    const whole = fields_of(form).every(is_filled)
    for (const button of form.querySelectorAll("[data-submit]")) { button.disabled = !whole }
  }

  const focused = () => root.getRootNode().activeElement
  const name_of = (element) =>
    element?.dataset?.do === undefined ? null : [element.dataset.do, element.dataset.value, element.dataset.as].join("|")

  const draw = () => {
    const had = name_of(focused())
    root.innerHTML = model.html
    root.querySelectorAll("[data-form]").forEach(check)
    if (had !== null) {
      const all = [...root.querySelectorAll("[data-do]")]
      const again = all.find((element) => name_of(element) === had)
      again?.focus({preventScroll: true})
    }
    const wanted = [...root.querySelectorAll("[data-reveal]")].pop() ?? null
    if (wanted !== null && wanted.dataset.reveal !== revealed) {
      // after the layout, which makes room for it first
      setTimeout(() => wanted.scrollIntoView({block: "nearest", behavior: "smooth"}), 100)
    }
    revealed = wanted?.dataset.reveal ?? null
  }

  // A kernel or server that answers may change what a dead copy has to say.
  const greet = () => {
    const element = root.querySelector("[data-greet]")
    const body = document.body?.dataset ?? {}
    const dark = body.jpThemeLight === "false" || (body.vscodeThemeKind ?? "").includes("dark")
    if (element !== null) { model.send_msg({action: "greet", value: dark ? "dark" : "light"}) }
  }

  const copy = async (element) => {
    const text = root.querySelector(`#${CSS.escape(element.dataset.copy)}`)?.textContent ?? ""
    const label = element.textContent
    try {
      await navigator.clipboard.writeText(text)
      element.textContent = "Copied"
    } catch {
      element.textContent = "Select and copy"
    }
    setTimeout(() => { element.textContent = label }, 1500)
  }

  root.addEventListener("click", (event) => {
    const element = event.target.closest("[data-do], [data-copy]")
    if (element === null || element.disabled || element.matches("input, select")) { return }
    if (element.dataset.copy) { copy(element); return }
    send(element, element.dataset.submit === undefined ? undefined : collect(element.closest("[data-form]")))
  })
  root.addEventListener("input", (event) => {
    const element = event.target
    if (element.closest("[data-form]") !== null) { check(element.closest("[data-form]")) }
    if (!element.matches("input[data-do]") || element.dataset.when === "enter") { return }
    clearTimeout(timer)
    timer = setTimeout(() => send(element, element.value), TYPING_PAUSE)
  })
  root.addEventListener("change", (event) => {
    if (event.target.matches("select[data-do]")) { send(event.target, event.target.value) }
  })
  root.addEventListener("keydown", (event) => {
    const element = event.target
    if (event.key === "Enter" && element.matches("input[data-do]")) { send(element, element.value) }
    if (event.key === "Enter" && element.matches("[data-form] input[name]")) {
      element.closest("[data-form]").querySelector("[data-submit][data-enter]")?.click()
    }
    if (!element.matches("tr[data-do]")) { return }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); send(element) }
    const next = {ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling"}[event.key]
    if (next !== undefined) { event.preventDefault(); element[next]?.focus() }
  })

  const on_key = (event) => {
    const target = event.composedPath()[0]
    if (event.ctrlKey || event.altKey || event.metaKey || target.matches?.(EDITABLE)) { return }
    for (const element of root.querySelectorAll("[data-key]")) {
      if (element.dataset.key === event.key && !element.disabled && element.offsetParent !== null) {
        element.click()
      }
    }
  }
  window.addEventListener("keydown", on_key)

  const on_message = (message) => {
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([message.text], {type: "text/csv;charset=utf-8"}))
    link.download = message.download
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10000)
  }

  model.on("html", draw)
  model.on("msg:custom", on_message)
  model.on("remove", () => window.removeEventListener("keydown", on_key))
  draw()
  greet()
  return root
}
