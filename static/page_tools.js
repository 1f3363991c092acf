// What belongs to the whole page: the command palette (Ctrl or Cmd with K), the picture of
// a view, the link to it, and the sign that somebody is looking.
//
// Every text is set as text, never as HTML.

const ALIVE_MS = 30000
const IDLE_MS = 120000
const TYPING_PAUSE = 150
const LISTED = 60

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) { made.setAttribute(key, value) }
  made.append(...children)
  return made
}

const save = (blob, name) => {
  const link = element("a", {download: name})
  link.href = URL.createObjectURL(blob)
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10000)
}

// ---------------------------------------------------------------------- the picture

const visible = (node) => { const box = node.getBoundingClientRect(); return box.width > 0 && box.height > 0 }

const walk = function* (node) {
  for (const child of node.children ?? []) {
    yield child
    if (child.shadowRoot) { yield* walk(child.shadowRoot) }
    yield* walk(child)
  }
}

const find_page = () => {
  for (const node of walk(document.body)) { if (node.classList.contains("dx-page")) { return node } }
  return null
}

// Characters that no XML may hold.
const clean = (text) => text.toWellFormed?.().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd") ?? text

// An image sees no font of the page: those that it uses are put into it, from our own server.
let fonts = null
const read_fonts = async () => {
  const faces = []
  for (const sheet of document.styleSheets) {
    let rules = []
    try { rules = [...sheet.cssRules] } catch { continue }
    for (const rule of rules) {
      if (!(rule instanceof CSSFontFaceRule) || !/roboto/i.test(rule.style.fontFamily)) { continue }
      const range = rule.style.getPropertyValue("unicode-range")
      if (range && !/U\+0(000)?-/i.test(range)) { continue }
      if (/italic/.test(rule.style.fontStyle) || !/^(normal|bold|400|500|700|100 900)?$/.test(rule.style.fontWeight)) { continue }
      const url = /url\(["']?([^"')]+)/.exec(rule.style.getPropertyValue("src"))?.[1]
      if (url) { faces.push([new URL(url, sheet.href ?? document.baseURI).href, rule.style]) }
    }
  }
  const read = async ([url, style]) => {
    if (!url.startsWith("data:") && new URL(url).origin !== window.location.origin) { return "" }
    const blob = await (await fetch(url)).blob()
    const data = await new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(blob) })
    return `@font-face{font-family:"Roboto";font-weight:${style.fontWeight || "400"};src:url(${data})}`
  }
  const texts = await Promise.all(faces.map((face) => read(face).catch(() => "")))
  return texts.join("")
}

// What a person has chosen or typed belongs to a field and not to its element.
const fill_in = (field, value) => {
  if (field.localName === "textarea") { field.textContent = value }
  else if (field.localName === "input") { field.setAttribute("value", value) }
  else { for (const option of field.options) { option.toggleAttribute("selected", option.value === value) } }
}

const picture_of_part = async (part, width) => {
  const box = part.getBoundingClientRect()
  const shared = globalThis.dxStyle === undefined ? [] : [document.getElementById("dx-style")]
  const sheet = [...part.getRootNode().querySelectorAll("style"), ...shared].map((style) => style.textContent).join("\n")
  const computed = getComputedStyle(part)
  const names = new Set(sheet.match(/--dx-[a-z-]+/g) ?? [])
  const values = [...names].map((name) => `${name}:${computed.getPropertyValue(name)}`).join(";")
  const copy = part.cloneNode(true)
  const fields = part.querySelectorAll("input, textarea, select")
  copy.querySelectorAll("input, textarea, select").forEach((field, at) => fill_in(field, fields[at].value))
  fonts ??= read_fonts()
  const rules = await fonts + sheet.replace(/:host\(([^)]*)\)/g, "$1").replace(/:host/g, ".dx-picture")
  const inner = element("div", {style: `width:${box.width}px`}, copy)
  const outer = element(
    "div", {class: "dx-picture", style: `container-type:inline-size;width:${width}px;${values}`}, element("style", {}, rules), inner,
  )
  const body = clean(new XMLSerializer().serializeToString(outer))
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${box.width}" height="${box.height}">` +
    `<foreignObject width="${width}" height="100%">${body}</foreignObject></svg>`
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  return image
}

const draw_card = (context, node, box) => {
  const style = getComputedStyle(node)
  context.beginPath()
  context.roundRect(box.x, box.y, box.width, box.height, 12)
  context.fillStyle = style.backgroundColor
  context.fill()
  context.strokeStyle = style.borderTopColor
  context.stroke()
}

const frames = async (count) => { for (let at = 0; at < count; at++) { await new Promise(requestAnimationFrame) } }

const WIDEST = 8000

// While its picture is taken, nothing of the page is scrolled: what is long is as high as it is,
// and the page as wide as its widest table.
const unfolded = async (page, work) => {
  const parts = [...walk(page.shadowRoot ?? page)]
    .filter((node) => node.classList.contains("dx") || node.classList.contains("dx-beside"))
  const before = page.style.minWidth
  parts.forEach((part) => part.classList.add("dx-whole"))
  try {
    for (let tries = 0; tries < 4; tries++) {
      const tables = parts.filter(visible).flatMap((part) => [...part.querySelectorAll(".dx-scroll")])
      const missing = Math.max(0, ...tables.map((table) => table.scrollWidth - table.clientWidth))
      const wide = page.getBoundingClientRect().width
      if (missing < 1 || wide >= WIDEST) { break }
      page.style.minWidth = `${Math.min(WIDEST, Math.ceil(wide + missing))}px`
      await frames(12)  // until plots have the new width, too
    }
    return await work()
  } finally {
    page.style.minWidth = before
    parts.forEach((part) => part.classList.remove("dx-whole"))
  }
}

const take_picture = async (name) => {
  const page = find_page()
  if (page === null) { return }
  const blob = await unfolded(page, () => draw_page(page))
  if (blob !== null) { save(blob, `${name}.png`) }
}

const draw_page = async (page) => {
  const {x, y, width, bottom} = page.getBoundingClientRect()
  const nodes = [...walk(page.shadowRoot ?? page)].filter(visible)
  // what is scrolled out of sight belongs to the view, too
  const lowest = Math.max(...nodes.filter((node) => node.matches(".dx-card, .dx")).map((node) => node.getBoundingClientRect().bottom))
  const below = parseFloat(getComputedStyle(page).paddingBottom) || 0
  const frame = {x, y, width, height: Math.max(bottom, lowest + below) - y}
  const scale = Math.max(0.25, Math.min(2, 16000 / frame.height, 16000 / frame.width))
  const canvas = element("canvas", {width: Math.ceil(frame.width * scale), height: Math.ceil(frame.height * scale)})
  const context = canvas.getContext("2d")
  context.scale(scale, scale)
  context.fillStyle = getComputedStyle(page).backgroundColor
  context.fillRect(0, 0, frame.width, frame.height)
  // measured at once: while the parts are drawn, others may change
  const places = nodes.map((node) => {
    const at = node.getBoundingClientRect()
    return [node, {x: at.x - frame.x, y: at.y - frame.y, width: at.width, height: at.height}]
  })
  for (const [node, box] of places) {
    if (node.classList.contains("dx")) { context.drawImage(await picture_of_part(node, frame.width), box.x, box.y) }
    else if (node.localName === "canvas") { context.drawImage(node, box.x, box.y, box.width, box.height) }
    else if (node.classList.contains("dx-card")) { draw_card(context, node, box) }
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"))
}

// ---------------------------------------------------------------------- the palette

// What a question has around what it asks for.
const FILLERS = new Set("a an and are at be can could did do does for from has have how i in is it me my of on or our should that the their there they this to was we were what when where which who whose why will with you".split(" "))

// Every word of the question somewhere in the text, but for those that questions have in common;
// what has these too stands before, and what begins with the first word before all.
const rank = (entry, words) => {
  const text = `${entry.label} ${entry.hint ?? ""} ${entry.kind}`.toLowerCase()
  const asked = words.filter((word) => !FILLERS.has(word))
  if (!(asked.length ? asked : words).every((word) => text.includes(word))) { return -1 }
  const begins = words.length && entry.label.toLowerCase().startsWith(words[0])
  return (begins ? words.length : 0) + words.filter((word) => text.includes(word)).length
}

const build_palette = (model, choose) => {
  const input = element("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "dx-found", "aria-autocomplete": "list",
    "aria-label": "Go to a view, version, file or column, or do something", autocomplete: "off", spellcheck: "false",
    placeholder: "A view, a version, a file, a column, or what to do",
  })
  const list = element("ul", {role: "listbox", id: "dx-found", "aria-label": "Found"})
  const state = element("p", {class: "dx-palette-none", role: "status"})
  const dialog = element("dialog", {class: "dx-palette", "aria-label": "Command palette"}, input, list, state)
  let shown = []
  let at = 0
  let timer = null

  const mark = (to) => {
    at = shown.length ? (to + shown.length) % shown.length : 0
    ;[...list.children].forEach((item, i) => item.setAttribute("aria-selected", i === at ? "true" : "false"))
    const item = list.children[at]
    if (item === undefined) { input.removeAttribute("aria-activedescendant") } else {
      input.setAttribute("aria-activedescendant", item.id)
      item.scrollIntoView({block: "nearest"})
    }
  }
  const draw = () => {
    const words = input.value.toLowerCase().split(/[\s?!,]+/).filter((word) => word !== "")
    const ranked = model.entries.map((entry) => [rank(entry, words), entry]).filter(([order]) => order >= 0)
    ranked.sort(([a], [b]) => b - a)
    const found = model.found.question === input.value.trim() ? model.found.entries : []
    shown = [...found.filter((one) => one.first), ...ranked.map(([, entry]) => entry), ...found.filter((one) => !one.first)].slice(0, LISTED)
    list.replaceChildren(...shown.map((entry, i) => {
      const item = element("li", {role: "option", id: `dx-option-${i}`}, element("span", {class: "dx-palette-kind"}), element("span"), element("kbd"))
      item.children[0].textContent = entry.kind
      item.children[1].textContent = entry.label
      item.children[2].textContent = entry.hint ?? ""
      item.addEventListener("click", () => pick(i))
      return item
    }))
    state.textContent = shown.length ? "" : "No matches."
    mark(0)
  }
  const pick = (i) => {
    const entry = shown[i]
    if (entry === undefined) { return }
    dialog.close()
    window.dispatchEvent(new Event("dx-chosen"))  // see live_html.js
    choose(entry)
  }
  const ask = () => {
    clearTimeout(timer)
    draw()
    timer = setTimeout(() => model.send_msg({action: "find", value: input.value.trim()}), TYPING_PAUSE)
  }
  input.addEventListener("input", ask)
  input.addEventListener("keydown", (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key]
    if (step !== undefined) { event.preventDefault(); mark(at + step) }
    if (event.key === "Enter") { event.preventDefault(); pick(at) }
    // there is one field to be in, and Escape leaves it
    if (event.key === "Tab") { event.preventDefault() }
    event.stopPropagation()
  })
  dialog.addEventListener("click", (event) => { if (event.target === dialog) { dialog.close() } })
  model.on("found", () => { if (dialog.open) { draw() } })
  const open = () => {
    if (dialog.open) { dialog.close(); return }
    input.value = ""
    dialog.showModal()
    input.focus()
    ask()
  }
  return {dialog, open}
}

// -------------------------------------------------------------------- the component

export function render({model, el}) {
  // a served document has the style sheet of all components once
  const place = el?.getRootNode()
  if (globalThis.dxStyle && place instanceof ShadowRoot) { place.adoptedStyleSheets = [globalThis.dxStyle] }
  const root = element("div", {class: "dx dx-tools"})
  const say = element("span", {class: "dx-tools-said", role: "status"})

  const tell = (text) => {
    say.textContent = text
    setTimeout(() => { if (say.textContent === text) { say.textContent = "" } }, 2500)
  }
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); tell("Copied") } catch { tell("The browser lets nothing be copied") }
  }
  const picture = async () => {
    try { await take_picture(model.picture || "view"); tell("Saved") } catch { tell("This browser makes no picture") }
  }
  const choose = (entry) => {
    if (entry.action === "copy") { copy(entry.value) }
    else if (entry.action === "link") { copy(window.location.href) }
    else if (entry.action === "picture") { picture() }
    else if (entry.action === "zone") { globalThis.dxClock?.change() }
    else { model.send_msg({action: entry.action, value: entry.value ?? ""}) }
  }
  const palette = build_palette(model, choose)

  const is_mac = /mac/i.test(navigator.userAgentData?.platform ?? navigator.platform ?? "")
  const shortcut = element("kbd")
  shortcut.textContent = is_mac ? "\u2318K" : "Ctrl K"
  const find = element("button", {type: "button", class: "dx-find", "aria-haspopup": "dialog", "aria-keyshortcuts": "Control+K Meta+K", title: "Go to a view, version, file or column, or do something"})
  find.append("Find ", shortcut)
  find.addEventListener("click", palette.open)
  const shot = element("button", {type: "button", class: "dx-shot", "data-own": "", title: "Save a picture of this view"})
  shot.append("PNG")
  shot.addEventListener("click", picture)
  const reload = element("button", {type: "button", class: "dx-icon dx-reload", "aria-label": "Refresh", title: "Refresh: look at the table again"})
  reload.addEventListener("click", () => model.send_msg({action: "reload", value: ""}))
  const theme = element("button", {type: "button", class: "dx-icon dx-mode", "aria-label": "Light or dark", title: "Light or dark"})
  theme.addEventListener("click", () => model.send_msg({action: "theme", value: ""}))
  const zone = element("button", {type: "button", class: "dx-clock", "data-own": "", title: "Show local time, or UTC again"})
  const clock = globalThis.dxClock  // of live_html.js, which stands on every page
  const show_zone = () => {
    const is_local = clock?.is_local() ?? false
    zone.textContent = is_local ? "Local time" : "UTC"
    zone.setAttribute("aria-pressed", String(is_local))
  }
  show_zone()
  zone.hidden = clock === undefined
  zone.addEventListener("click", () => clock?.change())
  if (clock) { window.addEventListener(clock.changed, show_zone) }
  root.append(say, zone, shot, find, reload, theme, palette.dialog)

  const on_key = (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) { return }
    if (find.offsetParent === null || find.disabled) { return }
    event.preventDefault()
    palette.open()
  }
  window.addEventListener("keydown", on_key, true)
  // Bokeh makes each plot a stop of the Tab key, without a name; nothing in it goes by a key
  const skip_plots = (event) => {
    if (event.key !== "Tab") { return }
    for (const node of walk(document.body)) { if (node.matches(".bk-events[tabindex='0']")) { node.tabIndex = -1 } }
  }
  window.addEventListener("keydown", skip_plots, true)

  // Whoever looks is told of new versions; a hidden page asks for nothing.
  let moved = Date.now()
  const alive = () => {
    if (document.visibilityState !== "visible") { return }
    model.send_msg({action: "alive", value: Date.now() - moved > IDLE_MS ? "idle" : "active"})
  }
  const stir = () => {
    const was_idle = Date.now() - moved > IDLE_MS
    moved = Date.now()
    if (was_idle) { alive() }
  }
  const turn = () => { if (document.visibilityState === "visible") { alive() } else { model.send_msg({action: "hidden", value: ""}) } }
  for (const name of ["pointermove", "keydown"]) { window.addEventListener(name, stir, {passive: true}) }
  document.addEventListener("visibilitychange", turn)
  const beat = setInterval(alive, ALIVE_MS)
  alive()

  model.on("remove", () => {
    clearInterval(beat)
    if (clock) { window.removeEventListener(clock.changed, show_zone) }
    window.removeEventListener("keydown", on_key, true)
    window.removeEventListener("keydown", skip_plots, true)
    for (const name of ["pointermove", "keydown"]) { window.removeEventListener(name, stir) }
    document.removeEventListener("visibilitychange", turn)
  })
  return root
}
