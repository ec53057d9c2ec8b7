import type { Document, Origins, PlacedOperation } from './document.ts'
import { escapeHtml, renderInline, renderMarkdown } from './markup.ts'
import { renderOperation } from './operation-view.ts'
import { renderSchema, typeOf } from './schema-view.ts'
import { renderText } from './text-view.ts'

/** A text of the documentation. */
export type TextPage = { readonly name: string; readonly title: string }

/** Renders the reference as one page. It fetches only its style and its script, and can be read without them. */
export function renderPage(document: Document, texts: readonly TextPage[], origins: Origins): string {
  const placed: PlacedOperation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const chapters = document.tags.map((tag) => ({
    ...tag,
    placed: placed.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))
  const { title, version, description } = document.info
  return `${renderHead(`${title}: reference`, '<script src="/docs/reference.js" defer></script>')}
<body>
<a class="skip" href="#content">Skip to the content</a>
${BAR}
<nav id="menu" aria-label="Operations">
${renderWays(texts, '/docs')}
<p><small>Version ${escapeHtml(version)}</small></p>
<p><input id="filter" type="search" placeholder="Filter" aria-label="Filter the operations" hidden></p>
${chapters.map((chapter) => renderIndex(chapter)).join('\n')}
<p><a href="#schemas">Schemas</a> · <a href="#refusals">Refusals</a></p>
</nav>
<main id="content">
<h1>${escapeHtml(title)}</h1>
${renderMarkdown(description)}
<p>Calls go to <code id="calls">${escapeHtml(origins.apiBaseUrl)}</code>. This page shows <a href="/openapi.json">openapi.json</a>;
agents read <a href="/llms.txt">llms.txt</a>.</p>
<h2>Who calls</h2>
<dl>${Object.entries(document.components.securitySchemes)
    .map(([name, scheme]) => `<dt><code>${escapeHtml(name)}</code></dt><dd>${renderInline(scheme.description)}</dd>`)
    .join('')}</dl>
${chapters.map((chapter) => renderChapter(chapter, origins)).join('\n')}
${renderSchemas(document)}
${renderRefusals(document)}
</main>
</body>
</html>
`
}

/** Renders a text in the same frame. It has no script. */
export function renderTextPage({ name, title }: TextPage, text: string, texts: readonly TextPage[]): string {
  return `${renderHead(title, '')}
<body>
<a class="skip" href="#content">Skip to the content</a>
${BAR}
<nav id="menu" aria-label="Texts">
${renderWays(texts, addressOf(name))}
</nav>
<main id="content">
${renderText(text)}
<p><small><a href="/docs/${name}">The Markdown of this text</a></small></p>
</main>
</body>
</html>
`
}

function renderHead(title: string, more: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="/docs/reference.css">
${more}
</head>`
}

/** The top bar on a phone. Its link shows the menu, and any other link of the page hides it again, without a script. */
const BAR = `<header class="bar"><a class="brand" href="/">Inference market</a><a class="menu" href="#menu">Menu</a></header>`

/** The address of a text's page. Its file has the same address with `.md`. */
export function addressOf(name: string): string {
  return `/docs/${name.replace(/\.md$/, '')}`
}

const SCREENS = [
  ['/', 'Home'],
  ['/models', 'Models'],
  ['/lent', 'Lent accounts'],
  ['/feed', 'Feed and rankings'],
  ['/receipt', 'Receipts'],
  ['/status', 'Status'],
] as const

/** The links to the page, the reference and the texts. */
function renderWays(texts: readonly TextPage[], here: string): string {
  const item = (href: string, words: string) =>
    `<li><a href="${href}"${href === here ? ' aria-current="page"' : ''}>${words}</a></li>`
  const list = [...texts].map(({ name, title }) => item(addressOf(name), renderInline(title)))
  return `<p class="close"><a class="menu" href="#content">Close the menu</a></p>
<p class="brand"><a href="/">Inference market</a></p>
<h2>Market</h2><ul>${SCREENS.map(([href, words]) => item(href, words)).join('')}</ul>
<h2>Reference</h2><ul>${item('/docs', 'API reference')}${list.join('')}</ul>`
}

type Chapter = { readonly name: string; readonly description: string; readonly placed: readonly PlacedOperation[] }

function renderIndex({ name, placed }: Chapter): string {
  const items = placed.map(
    ({ method, path, operation }) =>
      `<li><a href="#${operation.operationId}" title="${escapeHtml(path)}"><span class="verb ${method}">${method}</span> ` +
      `${escapeHtml(operation.summary)}</a></li>`,
  )
  return `<details open><summary>${escapeHtml(name)}</summary><ul>${items.join('')}</ul></details>`
}

function renderChapter({ name, description, placed }: Chapter, origins: Origins): string {
  const slug = name.toLowerCase().replaceAll(' ', '-')
  const parts = placed.map((one) => renderOperation(one, origins))
  return `<section><h2 id="${slug}">${escapeHtml(name)}</h2><p>${renderInline(description)}</p>${parts.join('\n')}</section>`
}

function renderSchemas({ components }: Document): string {
  const parts = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<article><h3 id="schema-${escapeHtml(name)}">${escapeHtml(name)}</h3>` +
      `${renderSchema(schema) || `<p>${typeOf(schema)}</p>`}</article>`,
  )
  return `<section><h2 id="schemas">Schemas</h2>${parts.join('\n')}</section>`
}

function renderRefusals({ components }: Document): string {
  const parts = Object.entries(components.responses).map(([name, { description }]) => {
    const [shape = '', status = ''] = name.split('_')
    const words = shape === 'seller' ? 'to sellers' : shape === 'messages' ? 'under /compat' : ''
    return `<article><h3 id="refusal-${name}">${status} ${words}</h3>${renderMarkdown(description)}</article>`
  })
  return `<section><h2 id="refusals">Refusals</h2>${parts.join('\n')}</section>`
}
