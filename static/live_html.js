// HTML that the server has built and escaped, and what a person does in it.
//
// [data-do] sends {action, value} on click, Enter or (inputs) after typing,
// with data-when="enter" only then, and with data-clears it is empty after that;
// [data-key] is clicked by that key anywhere on the page; [data-copy] copies
// the text of the element with that id; the last [data-reveal] is scrolled into view when
// its value is new, and [data-detail], the head of what is shown of a row, once somebody has
// chosen a row, to which [data-back] leads back; the last [data-land] takes the focus then, if what had it is gone.
// time[datetime] is a time in UTC, which [data-zone] turns into local time and back;
// [data-names] completes the names of columns while one types;
// the fields of [data-together] that were typed in are sent as one, when Enter is pressed in any;
// [data-submit] sends the named fields of its [data-form] as JSON, and can be pressed once
// each field that is required or [data-expected] holds what it must. A link with [data-do] is
// followed by its address where it is to open elsewhere, and so is that of a row, wherever in the row
// one clicks. A details[data-menu] closes once
// something in it is chosen, or something else is, and not when it is copied.
//
// [data-ahead] sends {action: "ahead"} when somebody first points at it or comes to it by the keyboard,
// once for each value.
//
// Rows with [data-do] are gone through by the arrows, or j and k, within their table.
//
// What is drawn anew changes the elements that stand there instead of replacing them, and
// waits while a button of the mouse is down: so a click, the focus, a selection, what is
// unfolded and how far something is scrolled outlast it.

const TYPING_PAUSE = 250
const EDITABLE = "input, textarea, select, [contenteditable]"

// ------------------------------------------------------------------ drawing anew

const key_of = (node) => {
  if (node.nodeType !== Node.ELEMENT_NODE) { return null }
  const {do: action, value, as, key} = node.dataset ?? {}
  if (action !== undefined) { return [node.localName, action, node.matches("input, select, textarea") ? "" : value, as, key].join("|") }
  const name = node.id || node.getAttribute("name")
  return name ? `${node.localName}#${name}` : null
}

const is_alike = (old, fresh) =>
  old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && key_of(old) === key_of(fresh)

const change_attributes = (old, fresh) => {
  for (const {name} of [...old.attributes]) {
    // what a person has unfolded stays so
    if (fresh.hasAttribute(name) || (name === "open" && old.localName === "details")) { continue }
    old.removeAttribute(name)
  }
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) === value) { continue }
    old.setAttribute(name, value)
  }
}

// Whether a field is given something else, or is to hold something else; an example in it or a
// list of offers may come later than what is typed.
const given = (field) =>
  field.localName === "select"
    ? [...field.options].find((option) => option.defaultSelected)?.value
    : field.defaultValue
const means_else = (old, fresh) =>
  given(old) !== given(fresh) || old.dataset.expected !== fresh.dataset.expected

const change_field = (old, fresh, changed, focused) => {
  const filled_in = old.closest("[data-together]") !== null || (old.closest("[data-form]") !== null && old.hasAttribute("name"))
  const typing = old === focused && old.localName !== "select"
  // what is being typed, and what was filled into a form that is the same, is kept
  if (!changed && (typing || filled_in)) { return }
  if (old.value !== fresh.value) { old.value = fresh.value }
}

// What was typed into fields that are sent together is a draft, until any of them is given something
// else, or they are of another table.
const given_to = new WeakMap()
const fields_together = (group) => [...group.querySelectorAll("input[data-do]")]
const settle_drafts = (group, focused) => {
  const fields = fields_together(group)
  const now = JSON.stringify([group.dataset.of, ...fields.map(given)])
  if (given_to.get(group) === now) { return }
  given_to.set(group, now)
  for (const field of fields) {
    if (field !== focused && field.value !== given(field)) { field.value = given(field) }
  }
}

const change = (old, fresh, focused) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) { old.nodeValue = fresh.nodeValue }
    return
  }
  const is_field = old.matches("input, textarea, select")
  const changed = is_field && means_else(old, fresh)
  change_attributes(old, fresh)
  change_children(old, fresh, focused)
  if (is_field) { change_field(old, fresh, changed, focused) }
}

const change_children = (parent, wanted, focused) => {
  const known = new Map()
  for (const node of parent.childNodes) {
    const key = key_of(node)
    if (key !== null && !known.has(key)) { known.set(key, node) }
  }
  let at = parent.firstChild
  for (const fresh of [...wanted.childNodes]) {
    const key = key_of(fresh)
    let old = key === null ? null : known.get(key) ?? null
    if (key !== null) { known.delete(key) }
    if (old !== null && old !== at) {
      // moving an element takes its focus away: those before it go instead
      while (at !== null && at !== old && !wanted_later(at, known)) { const next = at.nextSibling; at.remove(); at = next }
      if (old !== at) { parent.insertBefore(old, at) }
    }
    if (old === null && key === null) {
      while (at !== null && key_of(at) !== null && !wanted_later(at, known)) { const next = at.nextSibling; at.remove(); at = next }
      if (at !== null && is_alike(at, fresh)) { old = at }
    }
    if (old === null) { parent.insertBefore(fresh, at); continue }
    if (old === at) { at = at.nextSibling }
    change(old, fresh, focused)
  }
  while (at !== null) { const next = at.nextSibling; at.remove(); at = next }
}

const wanted_later = (node, known) => { const key = key_of(node); return key !== null && known.get(key) === node }

// ------------------------------------------------------------- a button that is down

// Whoever holds it longer selects text or has let it go where no page hears of it.
const LONGEST_PRESS = 4000

const pressed = {is_down: false, waiting: new Set(), timer: null}

const release = () => {
  // the click comes after the button is up, and before this
  clearTimeout(pressed.timer)
  setTimeout(() => {
    pressed.is_down = false
    const draws = [...pressed.waiting]
    pressed.waiting.clear()
    draws.forEach((draw) => draw())
  }, 0)
}

const press = (event) => {
  // the list that a select opens takes the rest for itself
  if (event.composedPath()[0]?.localName === "select") { return }
  pressed.is_down = true
  clearTimeout(pressed.timer)
  pressed.timer = setTimeout(release, LONGEST_PRESS)
}

const watch_presses = () => {
  window.addEventListener("pointerdown", press, true)
  for (const name of ["pointerup", "pointercancel", "blur", "dragend"]) { window.addEventListener(name, release, true) }
}
watch_presses()

// ------------------------------------------------------------------- rows to choose from

// A list is one stop of the Tab key: the row with the focus, else the chosen one, else the first.
const rove = (list, at) => {
  const rows = [...list.children].filter((row) => row.matches("tr[data-do]"))
  const stop = rows.find((row) => row === at) ?? rows.find((row) => row.hasAttribute("aria-current")) ?? rows[0]
  rows.forEach((row) => { row.tabIndex = row === stop ? 0 : -1 })
}

// A table that is wider than its place says so, and is scrolled by the keyboard, too: it is a stop of the Tab
// key as long as nothing in it is one.
const has_more = (place) => place.scrollLeft + place.clientWidth < place.scrollWidth - 2
const tell_more = (place, is_more = has_more(place)) => { place.toggleAttribute("data-more", is_more) }
const FOCUSABLE = "a[href], button, input, select, summary, [tabindex='0']"

// A row that leads to a place has the link of it. Who clicks as for a new tab opens that, wherever in
// the row; what can be clicked by itself is the browser's own, the link as well.
const CLICKED = "a, button, input, select, summary, label"
const link_of = (target) => target.closest("tr[data-do]")?.querySelector("a[href]") ?? null
const is_for_elsewhere = ({type, button, ctrlKey, metaKey, shiftKey}) =>
  type === "auxclick" ? button === 1 : ctrlKey || metaKey || shiftKey
const open_elsewhere = (link) => { window.open(link.href, "_blank", "noopener") }

const is_typed = ({key, ctrlKey, altKey, metaKey}) => key.length === 1 && key !== " " && !(ctrlKey || altKey || metaKey)

// From a row of a list to the next one that can be chosen, or, in a list whose rows cannot, from
// what is in one to the same in the next; whether there is a list.
const step_in_list = (element, next) => {
  const item = element.closest("tbody > tr, .dx-findings > li, .dx-told > li, .dx-steps-first > li")
  if (item === null) { return false }
  const stops = (of) => (of.matches("tr[data-do]") ? [of] : [...of.querySelectorAll(FOCUSABLE)].filter((one) => one.offsetParent !== null))
  const at = stops(item).indexOf(item.matches("tr[data-do]") ? item : element)
  if (at < 0) { return false }
  let other = item[next]
  while (other && !stops(other).length) { other = other[next] }
  if (other) { stops(other).at(Math.min(at, stops(other).length - 1)).focus() }
  return true
}
const let_scroll = (roots) => {
  const places = roots.flatMap((root) => [...root.querySelectorAll(".dx-scroll")])
  // all are measured before one is changed: after each change the page would be laid out again
  const measured = places.map((place) => [place, has_more(place), place.scrollWidth > place.clientWidth])
  for (const [place, is_more, is_wider] of measured) {
    tell_more(place, is_more)
    if (place.classList.contains("dx-grid")) { continue }
    const is_stop = is_wider && place.querySelector(FOCUSABLE) === null
    const wanted = {tabindex: "0", role: "group", "aria-label": place.querySelector("caption")?.textContent}
    for (const [name, value] of Object.entries(wanted)) {
      if (is_stop && value) { place.setAttribute(name, value) } else { place.removeAttribute(name) }
    }
  }
}

// Before the next frame, for all that was drawn for it: to ask how wide something is makes the
// browser lay out the page at once.
const unscrolled = new Set()
const let_scroll_soon = (root) => {
  if (unscrolled.size === 0) {
    requestAnimationFrame(() => {
      const roots = [...unscrolled]
      unscrolled.clear()
      let_scroll(roots)
    })
  }
  unscrolled.add(root)
}

// --------------------------------------------------------------- what a row was chosen for

// Beside its list the detail of a row is in sight. Where the page is narrow it stands above or
// below the list, and is scrolled to as long as whoever chose the row does nothing else; to go
// through a list chooses nothing, and neither does an address.
const LONGEST_LOOK = 6000
const CHOSEN = "dx-chosen"

const parts = new Set()  // the roots of all components
const choice = {row: null, ends: 0}
const is_seen = (node) => node.getClientRects().length > 0
const is_in_detail = (node) => {
  for (let at = node; at !== null; at = at.parentNode ?? at.host ?? null) {
    if (at.classList?.contains("dx-beside")) { return true }
  }
  return false
}
const glide = (node, block) => {
  const is_calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches
  node.scrollIntoView({block, behavior: is_calm ? "instant" : "smooth"})
}

const bring_in_sight = () => {
  if (Date.now() > choice.ends) { return }
  const heads = [...parts].flatMap((part) => [...part.querySelectorAll("[data-detail]")]).filter(is_seen)
  const head = heads.pop()
  if (head === undefined) { return }
  const {top} = head.getBoundingClientRect()
  const line = parseFloat(getComputedStyle(head).getPropertyValue("--page-line")) || 0
  if (top < line || top > 0.6 * window.innerHeight) { glide(head, "start") }
}

const choose_row = (row) => {
  if (row !== null && is_in_detail(row)) { return }
  choice.row = row
  choice.ends = Date.now() + LONGEST_LOOK
  setTimeout(bring_in_sight, 300)  // also where it is drawn already
}
const look_elsewhere = () => { choice.ends = 0 }

const go_back = () => {
  const rows = [...parts].flatMap((part) => [...part.querySelectorAll("tr[data-do]")])
  const listed = rows.filter((row) => is_seen(row) && !is_in_detail(row))
  const row = listed.find((one) => one === choice.row) ?? listed.find((one) => one.hasAttribute("aria-current")) ?? listed[0]
  row?.focus({preventScroll: true})
  if (row) { glide(row, "center") }
}

for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) { window.addEventListener(name, look_elsewhere, {capture: true, passive: true}) }
window.addEventListener(CHOSEN, () => choose_row(null))

// ------------------------------------------------------------------------- files

// A file comes in pieces, each asked for when the one before it has arrived.
const arriving = new Map()

const take_piece = (model, {file, name, type, data, is_last}) => {
  const pieces = arriving.get(file) ?? []
  pieces.push(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)))
  arriving.set(file, pieces)
  if (!is_last) { model.send_msg({action: "piece", value: file}); return }
  arriving.delete(file)
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob(pieces, {type}))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10000)
}

// ------------------------------------------------------------------------ local times

// Times are in UTC until somebody asks for those of their own clock, by the zone in the head of
// a column or in the header of the page; that holds for all that is said, and for the next visit.
// What the rows of a table hold, and what is code, stays as it is written, but for values that are
// instants by their type: their text and title follow too.
const LOCAL_KEY = "dx-local-times"
const ZONE_CHANGED = "dx-zone-changed"

const wants_local = () => {
  try { return localStorage.getItem(LOCAL_KEY) === "1" } catch { return false }
}

const two = (number) => String(number).padStart(2, "0")

const local_text = (at, has_seconds) => {
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}${has_seconds ? `:${two(at.getSeconds())}` : ""}`
}

const offset_text = (at) => {
  const minutes = -at.getTimezoneOffset()
  const size = Math.abs(minutes)
  return `UTC${minutes < 0 ? "\u2212" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

const MOMENT = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)(\.\d+)? UTC(?![\w+\-\u2212])/g
const INSTANT = ".dx-instant"
const AS_WRITTEN = ".dx-grid, .dx-rows, .dx-mono, .dx-quote, code, pre, textarea, time"
const moments = new WeakMap()  // a text or an element with a title: what it says in UTC, and what is shown
const is_as_written = (element) => {
  const nearest = element.closest(`${AS_WRITTEN}, ${INSTANT}`)
  return nearest !== null && !nearest.matches(INSTANT)
}

const localized = (text) => text.replace(MOMENT, (written, day, clock, fraction = "") => {
  const at = new Date(`${day}T${clock}Z`)
  const is_one = !isNaN(at) && at.toISOString().startsWith(`${day}T${clock}`)  // not 31 February
  return !is_one ? written : `${local_text(at, clock.length > 5)}${fraction} ${offset_text(at)}`
})

const show_moment = (node, said, is_local, show) => {
  const held = moments.get(node)
  const utc = held?.shown === said ? held.utc : said
  if (!utc.includes(" UTC")) { return }
  const shown = is_local ? localized(utc) : utc
  if (said !== shown) { show(shown) }
  moments.set(node, {utc, shown})
}

let was_local = false
const show_moments = (root, is_local) => {
  if (!is_local && !was_local) { return }
  was_local = true
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (!node.data.includes(" UTC") || is_as_written(node.parentElement)) { continue }
    show_moment(node, node.data, is_local, (text) => { node.data = text })
  }
  for (const element of root.querySelectorAll(`${INSTANT}[title]`)) {
    show_moment(element, element.title, is_local, (text) => { element.title = text })
  }
}

const show_times = (root) => {
  const is_local = wants_local()
  show_moments(root, is_local)
  for (const element of root.querySelectorAll("time[datetime]")) {
    const utc = element.getAttribute("datetime")
    const [, clock] = utc.split("T")
    const shown = is_local ? local_text(new Date(utc), clock.length > 6) : utc.replace("T", " ").replace("Z", "")
    if (element.textContent !== shown) { element.textContent = shown }
  }
  for (const button of root.querySelectorAll("[data-zone]")) {
    const text = is_local ? "(local)" : "(UTC)"
    if (button.textContent !== text) { button.textContent = text }
    button.setAttribute("aria-pressed", String(is_local))
  }
}

const change_zone = () => {
  try { localStorage.setItem(LOCAL_KEY, wants_local() ? "0" : "1") } catch { return }
  window.dispatchEvent(new Event(ZONE_CHANGED))
}
const said_now = (text) => wants_local() ? localized(text) : text

// ------------------------------------------------------------------ axes of time
//
// A plot places moments in milliseconds since the epoch, and Bokeh takes them for UTC. For a local
// clock its ticker and its formatter are given what that clock says as if it were UTC: ticks stand
// at midnights and full hours of the reader, on both sides of a change to summer time.

const MINUTE_MS = 60000
const shift_of = (at) => new Date(at).getTimezoneOffset() * MINUTE_MS
const clock_of = (at) => at - shift_of(at)
// of an hour that a clock skips or shows twice, any of the two
const moment_of = (said) => said + shift_of(said + shift_of(said))

const place_ticks = (ticker, {start, end, range, cross_loc}) => {
  const [from, to, back] = wants_local() ? [clock_of(start), clock_of(end), moment_of] : [start, end, (at) => at]
  const {major} = ticker.get_ticks(from, to, range, cross_loc)
  return [...new Set(major.map(back))]
}
const label_ticks = (formatter, ticks) => formatter.doFormat(wants_local() ? ticks.map(clock_of) : ticks, {loc: 0})

const titled = new Map()  // axes with what they are called in UTC and in local time
const show_title = (axis) => {
  const {utc, local} = titled.get(axis)
  axis.setv({axis_label: wants_local() ? local : utc}, {sync: false})
}
const keep_title = (axis, titles) => {
  if (titled.has(axis)) { return }
  for (const old of [...titled.keys()]) { if (old.document === null) { titled.delete(old) } }  // of a plot that is gone
  titled.set(axis, titles)
  queueMicrotask(() => show_title(axis))  // the axis is being drawn
}
window.addEventListener(ZONE_CHANGED, () => {
  for (const axis of [...titled.keys()]) {
    if (axis.document === null) { continue }
    show_title(axis)
    axis.formatter.change.emit()  // all axes that have it are drawn anew
  }
})

// see page_tools.js, and the tooltips and axes of plots in widgets/figures/_plots.py
globalThis.dxClock = {is_local: wants_local, change: change_zone, changed: ZONE_CHANGED, said: said_now, place_ticks, label_ticks, keep_title}

// -------------------------------------------------------------- names while one types

const OFFERED = 8
// the name that is being typed: letters, digits and what names are made of, or from a backtick on
const TYPED = /(`[^`]*|[\p{L}_][\p{L}\p{N}_.$-]*)$/u

// Offers the names in [data-names] that hold what stands before the caret of a field, those that
// begin with it first; arrows choose, Tab or Enter takes one over, Escape closes.
const offer_names = (field, list) => {
  const names = JSON.parse(field.dataset.names || "[]")
  const before = field.value.slice(0, field.selectionStart)
  const quotes = (before.match(/'/g) ?? []).length
  const word = quotes % 2 === 1 ? "" : TYPED.exec(before)?.[0] ?? ""
  const plain = word.replaceAll("`", "").toLowerCase()
  const bare = (name) => name.replaceAll("`", "").toLowerCase()
  const found = plain === "" ? [] : names.filter((name) => bare(name).includes(plain) && bare(name) !== plain)
  found.sort((one, other) => bare(other).startsWith(plain) - bare(one).startsWith(plain))
  list.replaceChildren(...found.slice(0, OFFERED).map((name, at) => {
    const item = document.createElement("li")
    item.textContent = name
    item.id = `dx-name-${at}`
    item.setAttribute("role", "option")
    return item
  }))
  list.hidden = list.childElementCount === 0
  if (!list.hidden) {
    const {left, bottom} = field.getBoundingClientRect()
    Object.assign(list.style, {left: `${left}px`, top: `${bottom + 2}px`})
  }
  list.id = "dx-names"
  field.setAttribute("aria-controls", list.id)
  field.setAttribute("aria-expanded", String(!list.hidden))
  field.removeAttribute("aria-activedescendant")
}

const take_name = (field, list, item) => {
  const before = field.value.slice(0, field.selectionStart)
  const word = TYPED.exec(before)?.[0] ?? ""
  const start = before.length - word.length
  field.setRangeText(item.textContent + " ", start, before.length, "end")
  close_names(field, list)
  field.focus()
}

const close_names = (field, list) => {
  list.hidden = true
  field.setAttribute("aria-expanded", "false")
  field.removeAttribute("aria-activedescendant")
}

// Whether a key was for the list.
const steer_names = (field, list, {key, shiftKey}) => {
  if (list.hidden) { return false }
  const items = [...list.children]
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true")
  if (key === "Escape") { close_names(field, list); return true }
  if (key === "Tab" && shiftKey) { close_names(field, list); return false }  // the way back
  if (key === "ArrowDown" || key === "ArrowUp") {
    const next = key === "ArrowDown" ? (at + 1) % items.length : (at <= 0 ? items.length : at) - 1
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === next)))
    field.setAttribute("aria-activedescendant", items[next].id)
    return true
  }
  if (key === "Tab" || (key === "Enter" && at >= 0)) { take_name(field, list, items[Math.max(at, 0)]); return true }
  return false
}

// --------------------------------------------------------------------- the component

// A served document has the style sheet of all components once.
const adopt = (el) => {
  const place = el?.getRootNode()
  if (globalThis.dxStyle && place instanceof ShadowRoot) { place.adoptedStyleSheets = [...place.adoptedStyleSheets, globalThis.dxStyle] }
}

// Bokeh lays out every plot of a page anew when the size of any component has changed, some 30 ms
// each time. In a page of ours HTML has its size from the browser, and no plot has its height from
// what the HTML above leaves of it, as it may in a page of somebody else.
const spare_plots = (view) => { if (view && globalThis.dxStyle) { view._after_resize = () => {} } }

export function render({model, el, view}) {
  adopt(el)
  spare_plots(view)
  const root = document.createElement("div")
  root.className = "dx"
  const names = document.createElement("ul")
  names.className = "dx-names"
  names.hidden = true
  names.setAttribute("role", "listbox")
  names.setAttribute("aria-label", "Columns")
  const host = el?.getRootNode()?.host
  parts.add(root)
  let timer = null
  let revealed = null
  let landed = null

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

  const send_together = (group, entered) => {
    const typed = fields_together(group).filter((field) => field === entered || field.value !== given(field))
    const values = Object.fromEntries(typed.map((field) => [field.dataset.do, field.value]))
    model.send_msg({action: group.dataset.together, value: JSON.stringify(values)})
  }

  // a number in a field that is sent with others is replaced, not typed into
  const is_replaced = (field) => field.matches("[data-together] input[inputmode=numeric]")
  let entered = null
  const ahead = new Set()

  const focused = () => root.getRootNode().activeElement
  const name_of = (element) =>
    element?.dataset?.do === undefined ? null : [element.dataset.do, element.dataset.value, element.dataset.as].join("|")

  let lost = null
  const draw = () => {
    if (pressed.is_down) { pressed.waiting.add(draw); return }
    const had = focused()
    const name = name_of(had)
    const fresh = document.createElement("template")
    fresh.innerHTML = model.html
    change_children(root, fresh.content, had)
    root.querySelectorAll("[data-form]").forEach(check)
    root.querySelectorAll("[data-together]").forEach((group) => settle_drafts(group, had))
    show_times(root)
    // what had the focus is there again, at once or once its list has been read
    const is_free = document.activeElement === null || document.activeElement === document.body
    if (name !== null && focused() !== had) { lost = name } else if (!is_free) { lost = null }
    if (lost !== null) {
      const again = [...root.querySelectorAll("[data-do]")].find((element) => name_of(element) === lost)
      again?.focus({preventScroll: true})
      if (again !== undefined) { lost = null }
    }
    const wanted = [...root.querySelectorAll("[data-reveal]")].pop() ?? null
    if (wanted !== null && wanted.dataset.reveal !== revealed) {
      // after the layout, which makes room for it first
      setTimeout(() => wanted.scrollIntoView({block: "nearest", behavior: "smooth"}), 100)
    }
    revealed = wanted?.dataset.reveal ?? null
    if (root.querySelector("[data-detail]") !== null) { setTimeout(bring_in_sight, 100) }
    land()
    root.querySelectorAll("tbody").forEach((list) => rove(list, focused()))
    let_scroll_soon(root)
    // a table gets narrower within its place when the fonts of the page arrive
    root.querySelectorAll(".dx-scroll > table").forEach((table) => widths.observe(table))
    // a card that is there while it shows something
    host?.toggleAttribute("data-empty", root.firstChild === null)
  }

  // Where a person goes on whose button or field is no longer there; a page that has just
  // been opened takes no focus, and neither does one that is read elsewhere.
  const land = () => {
    const place = [...root.querySelectorAll("[data-land]")].pop() ?? null
    const value = place?.dataset.land ?? null
    const is_new = landed !== null && value !== null && value !== landed
    landed = value ?? landed
    if (!is_new) { return }
    const at = focused()
    const is_free = document.activeElement === null || document.activeElement === document.body
    if (!is_free && at?.dataset?.land === undefined) { return }
    at?.blur()  // a reader says what is focused anew
    place.focus({preventScroll: true})
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

  const close_menus = (menu) => { if (menu !== null) { menu.open = false } }
  const on_press = (event) => {
    const path = event.composedPath()
    root.querySelectorAll("[data-menu][open]").forEach((menu) => { if (!path.includes(menu)) { menu.open = false } })
  }
  window.addEventListener("pointerdown", on_press, true)

  // whether text is selected: its end was a drag, or a click with Shift
  const is_selecting = () => (root.getRootNode().getSelection?.() ?? document.getSelection())?.type === "Range"
  const goes_elsewhere = (event) => {
    const link = is_for_elsewhere(event) ? link_of(event.target) : null
    const clicked = event.target.closest(CLICKED)
    if (link === null || (clicked !== null && clicked !== link)) { return false }
    if (clicked === null && (event.type === "auxclick" || !is_selecting())) { open_elsewhere(link) }
    return true
  }
  root.addEventListener("auxclick", goes_elsewhere)
  root.addEventListener("mousedown", (event) => {
    if (event.target.closest(CLICKED) !== null || link_of(event.target) === null) { return }
    // nothing is scrolled by the middle button, and from no caret that nobody sees is text selected
    if (event.button === 1 || (event.button === 0 && event.shiftKey && !is_selecting())) { event.preventDefault() }
  })
  root.addEventListener("click", (event) => {
    if (goes_elsewhere(event)) { return }
    const element = event.target.closest("[data-do], [data-copy], [data-zone], [data-back]")
    if (element === null || element.disabled || element.matches("input, select")) { return }
    if (element.dataset.zone !== undefined) { change_zone(); return }
    if (element.dataset.back !== undefined) { go_back(); return }
    if (element.localName === "tr") {
      choose_row(element)
      if (event.target.closest("a[href]") !== null) { event.preventDefault(); element.focus({preventScroll: true}) }
    }
    if (element.localName === "a") {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) { return }
      event.preventDefault()
    }
    // what was copied, or is to be selected instead, is told in the menu, which stays open for it
    if (element.dataset.copy) { copy(element); return }
    close_menus(element.closest("[data-menu]"))
    send(element, element.dataset.submit === undefined ? undefined : collect(element.closest("[data-form]")))
  })
  root.addEventListener("scroll", (event) => { if (event.target.matches?.(".dx-scroll")) { tell_more(event.target) } }, true)
  const look_ahead = (event) => {
    const link = event.target.closest("[data-ahead]")
    if (link === null || ahead.has(link.dataset.ahead)) { return }
    ahead.add(link.dataset.ahead)
    model.send_msg({action: "ahead", value: link.dataset.ahead})
  }
  root.addEventListener("pointerover", look_ahead)
  root.addEventListener("focusin", look_ahead)
  root.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-do]")
    if (row !== null) { rove(row.parentNode, row) }
    if (is_replaced(event.target)) { event.target.select(); entered = event.target }
  })
  root.addEventListener("click", (event) => {
    // the click that led there has put the cursor somewhere into the number, or has selected some
    const field = event.target
    if (field === entered && field.selectionStart === field.selectionEnd) { field.select() }
    entered = null
  })
  const offers = () => {
    // beside what is drawn, which would take it away
    if (names.parentNode === null) { root.parentNode.append(names) }
    return names
  }
  names.addEventListener("pointerdown", (event) => {
    const item = event.target.closest("li")
    const field = focused()
    event.preventDefault()  // the field keeps the focus
    if (item !== null && field?.matches("[data-names]")) { take_name(field, names, item) }
  })
  root.addEventListener("focusout", (event) => {
    if (event.target.matches("[data-names]")) { close_names(event.target, names) }
  })
  root.addEventListener("input", (event) => {
    const element = event.target
    if (element.matches("[data-names]")) { offer_names(element, offers()) }
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
    if (element.matches(".dx-consequence") && is_typed(event)) {
      // who has read what is lost types the table's name, wherever its field is
      const field = [...parts].map((part) => part.querySelector("input[data-expected]")).find((one) => one?.offsetParent)
      field?.focus()
      if (field !== undefined) { event.stopPropagation() }
      return
    }
    if (element.matches("[data-names]") && steer_names(element, names, event)) {
      event.preventDefault()
      event.stopPropagation()
      return
    }
    if (event.key === "Enter" && element.matches("input[data-do]")) {
      const together = element.closest("[data-together]")
      if (together !== null) { send_together(together, element) } else { send(element, element.value) }
      const menu = element.closest("[data-menu]")
      if (menu !== null || element.dataset.clears !== undefined) { element.value = "" }
      close_menus(menu)
    }
    if (event.key === "Escape" && element.closest("[data-menu][open]") !== null) {
      const menu = element.closest("[data-menu]")
      close_menus(menu)
      menu.querySelector("summary")?.focus()
    }
    if (event.key === "Enter" && element.matches("[data-form] input[name]")) {
      element.closest("[data-form]").querySelector("[data-submit][data-enter]")?.click()
    }
    const is_row = element.matches("tr[data-do]")
    if (is_row && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault()
      const link = event.key === "Enter" && is_for_elsewhere(event) ? link_of(element) : null
      if (link !== null) { open_elsewhere(link) } else { choose_row(element); send(element) }
    }
    if (event.ctrlKey || event.altKey || event.metaKey || (!is_row && element.matches(EDITABLE))) { return }
    const next = {ArrowDown: "nextElementSibling", j: "nextElementSibling", ArrowUp: "previousElementSibling", k: "previousElementSibling"}[event.key]
    if (next !== undefined && step_in_list(element, next)) { event.preventDefault() }
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
  const on_zone = () => show_times(root)
  window.addEventListener(ZONE_CHANGED, on_zone)

  model.on("html", draw)
  model.on("msg:custom", (message) => take_piece(model, message))
  model.on("remove", () => {
    names.remove()
    parts.delete(root)
    pressed.waiting.delete(draw)
    window.removeEventListener("keydown", on_key)
    window.removeEventListener(ZONE_CHANGED, on_zone)
    window.removeEventListener("pointerdown", on_press, true)
  })
  const widths = new ResizeObserver(() => let_scroll_soon(root))
  widths.observe(root)
  model.on("remove", () => widths.disconnect())
  draw()
  return root
}
