import { escapeHtml } from '#control-plane/api/reference/escape-html.ts'
import { HERO } from '#control-plane/dashboard/market/home/head.ts'
import type { ScreenHead } from '#control-plane/dashboard/market/public-heads.ts'
import { BRAND_NAME, MARK_STROKES } from '#control-plane/dashboard/ui/brand-mark.ts'

/** Data in the page's cache from the start: pairs of a key and its data. */
export type PageData = readonly (readonly [key: readonly string[], data: unknown])[]

/** The head of a screen, at its top. All members are plain text. */
export type Head = {
  readonly title: string
  /** Empty without a description. */
  readonly about: string
  /** The list that the screen belongs to. */
  readonly up: { readonly path: string; readonly label: string }
  readonly figures: readonly { readonly label: string; readonly value: string; readonly hint: string }[]
}

const PLACE = '<div id="page"></div>'

/** Longest description for a preview of a link. */
const MAX_DESCRIPTION = 300
const STROKES = MARK_STROKES.map(
  (stroke, at) =>
    `<path d="${stroke}" fill="none" stroke="var(--mark-${at + 1})" stroke-width="4" stroke-linecap="round"></path>`,
)
const BRAND = `<a href="/" class="brand"><svg viewBox="0 0 32 32" aria-hidden="true" class="mark">\
<rect width="32" height="32" rx="8" fill="var(--mark)"></rect>${STROKES.join('')}</svg>${BRAND_NAME}</a>`

/** The frame of the page around the markup beside its navigation. */
function frameOf(content: string, pageData: PageData): string {
  return `<div id="page" data-known="${escapeHtml(JSON.stringify(pageData))}">
<header class="topbar">${BRAND}<div class="actions" aria-hidden="true">\
<span class="button">Search</span><span class="button">Menu</span></div></header>
<div class="frame"><nav class="side">${BRAND}</nav>
${content}</div></div>`
}

/** The frame of the page around a screen. */
function screenOf(screen: string, pageData: PageData): string {
  return frameOf(
    `<div class="beside"><main id="content" class="main"><div class="page">${screen}</div></main></div>`,
    pageData,
  )
}

/** The heading of a screen, with further markup beside it. */
function pageHead({ title, about }: ScreenHead, actions = ''): string {
  const sentence = about === '' ? '' : `<p>${escapeHtml(about)}</p>`
  return `<header class="page-head"><div><h1>${escapeHtml(title)}</h1>${sentence}</div>${actions}</header>`
}

/** Writes the title of a page into its document. */
function titled(html: string, title: string): string {
  // The texts may contain replacement patterns, as prices do: `$0`.
  return html.replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(title)} · ${BRAND_NAME}</title>`)
}

/** Writes the description of a page into its document. */
function described(html: string, description: string): string {
  return html.replace(
    /(<meta name="description" content=")[^"]*/,
    (_, start) => `${start}${escapeHtml(description.slice(0, MAX_DESCRIPTION))}`,
  )
}

/**
 * Writes a head into the document of the page, in the markup of the page's script, so that it shows before any script
 * runs, and without scripts. The script then draws the same in its place. Previews of links show its title.
 */
export function withHead(html: string, head: Head, pageData: PageData): string {
  const { up, figures } = head
  const list = `<div class="actions"><a href="${escapeHtml(up.path)}">${escapeHtml(up.label)}</a></div>`
  const place = screenOf(
    `${pageHead(head, list)}\
<div class="grid"><div class="stats">${figures.map(figureMarkup).join('')}</div><div aria-busy="true"></div></div>`,
    pageData,
  )
  return described(titled(html, head.title), descriptionOf(head)).replace(PLACE, () => place)
}

/** A page of the documentation: its title, its description, and its text as HTML of the build. */
export type DocHead = { readonly title: string; readonly about: string; readonly html: string }

/** Writes a page of the documentation into the document, for readers without a script and until the script draws it. */
export function withDoc(html: string, { title, about, html: text }: DocHead): string {
  const place = frameOf(
    `<main id="content" class="main"><div class="page docs"><div class="docs-side"><a href="/docs">All pages</a></div>\
<article class="docs-text"><h1>${escapeHtml(title)}</h1>${text}</article></div></main>`,
    [],
  )
  return described(titled(html, title), about).replace(PLACE, () => place)
}

/** Writes the title of a screen, and the sentence below it, into its document. */
export function withTitle(html: string, head: ScreenHead): string {
  const place = screenOf(`${pageHead(head)}<div class="grid"><div aria-busy="true"></div></div>`, [])
  return titled(html, head.title).replace(PLACE, () => place)
}

/** Writes the introduction of the home screen into its document, with the room of the picture beside it. */
export function withHome(html: string, pageData: PageData): string {
  const { title, about, actions } = HERO
  const links = actions.map(
    ({ path, label }, at) =>
      `<a class="button"${at === 0 ? ' data-kind="primary"' : ''} href="${path}">${escapeHtml(label)}</a>`,
  )
  const hero = `<section class="hero"><div><h1>${escapeHtml(title)}</h1><p>${escapeHtml(about)}</p>\
<div class="actions">${links.join('')}</div></div>\
<svg class="book-picture" viewBox="0 0 520 240" aria-hidden="true"></svg></section>`
  const place = screenOf(`<div class="grid">${hero}<div aria-busy="true"></div></div>`, pageData)
  return html.replace(PLACE, () => place)
}

function figureMarkup({ label, value, hint }: Head['figures'][number]): string {
  return `<dl class="stat"><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd><dd>${escapeHtml(hint)}</dd></dl>`
}

function descriptionOf({ title, about, figures: [first] }: Head): string {
  const price = first === undefined ? '' : `: ${first.value}, ${first.hint}. ${first.label}.`
  return `${title}${price} ${about}`.trim()
}
