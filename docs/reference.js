// Filters the list of operations by what is typed; the page reads without it.
const field = document.querySelector('#filter')
field.hidden = false
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\s+/)
  for (const group of document.querySelectorAll('nav details')) {
    let isShown = false
    for (const item of group.querySelectorAll('li')) {
      const link = item.querySelector('a')
      const text = `${link.textContent} ${link.title}`.toLowerCase()
      item.hidden = !words.every((word) => text.includes(word))
      isShown ||= !item.hidden
    }
    group.hidden = !isShown
  }
})

// A console for each operation, where its calls go to the origin of this page. The key is never kept: it lives in the one
// field it is typed into, goes to this origin only, and no cookie goes with it.
const MOST_SHOWN = 100_000
const PATIENCE_MS = 60_000
const KEYS = { buyerKey: 'inf_…', sellerKey: 'mkt_seller_…', managementKey: 'mkt_mgmt_…' }

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

function labelled(text, field) {
  return make('label', {}, make('span', { textContent: text }), field)
}

function consoleFor({ method, target, caller, once, body }) {
  const path = make('input', { value: target, spellcheck: false, autocomplete: 'off' })
  const key = make('input', { type: 'password', placeholder: KEYS[caller] ?? '', autocomplete: 'off' })
  const text = make('textarea', { rows: 8, spellcheck: false })
  if (body !== undefined) text.value = JSON.stringify(JSON.parse(body), null, 2)
  const send = make('button', { type: 'button', textContent: `Send ${method}` })
  const shown = make('pre', { tabIndex: 0, hidden: true })
  shown.setAttribute('aria-live', 'polite')
  send.addEventListener('click', async () => {
    send.disabled = true
    shown.hidden = false
    shown.textContent = '…'
    shown.textContent = await ask(path.value, {
      method,
      credentials: 'omit',
      redirect: 'follow',
      headers: {
        ...(key.value === '' ? {} : { authorization: `Bearer ${key.value.trim()}` }),
        ...(once === undefined ? {} : { 'idempotency-key': crypto.randomUUID() }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: text.value }),
    }).catch((error) => String(error))
    send.disabled = false
  })
  return [
    labelled('Path', path),
    ...(caller === undefined ? [] : [labelled('Key, kept by nobody', key)]),
    ...(body === undefined ? [] : [labelled('Body', text)]),
    send,
    shown,
  ]
}

async function ask(path, call) {
  const address = new URL(path, location.origin)
  if (address.origin !== location.origin) return 'Only calls of this origin are made from here.'
  const answer = await fetch(address, { ...call, signal: AbortSignal.timeout(PATIENCE_MS) })
  const id = answer.headers.get('x-request-id')
  const text = await answer.text()
  const head = `${answer.status} ${answer.statusText}${id === null ? '' : `\nx-request-id: ${id}`}`
  return `${head}\n\n${indented(text).slice(0, MOST_SHOWN)}`
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

if (new URL(document.querySelector('#calls').textContent).origin === location.origin) {
  for (const place of document.querySelectorAll('details.try')) {
    place.hidden = false
    place.addEventListener('toggle', () => place.append(...consoleFor(place.dataset)), { once: true })
  }
}
