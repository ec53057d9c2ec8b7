import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Theme } from '#control-plane/api/theme.ts'
import { inTheme } from '#control-plane/api/theme.ts'
import type { Origins } from './document.ts'
import { DocumentSchema } from './document.ts'
import { addressOf, renderPage, renderTextPage } from './page.ts'

/** A file to serve. It is kept in memory with a hash of its bytes. */
export type Served = { readonly contentType: string; readonly text: string; readonly etag: string }
const HTML = 'text/html; charset=utf-8'

/** Whether a file looks otherwise in another theme. */
export const isThemed = ({ contentType }: Served) => contentType === HTML

/** The same page in a theme. It has an ETag of its own. */
export function servedIn(page: Served, theme: Theme): Served {
  return served(page.contentType, inTheme(page.text, theme))
}

const MAX_PAGES = 50
const TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

function served(contentType: string, text: string): Served {
  return { contentType, text, etag: `"${createHash('sha1').update(text).digest('base64url')}"` }
}

/**
 * Reads the folder of the documentation once and answers its files by path: the description, the page that shows it,
 * the note for agents and the texts. Empty when the folder is missing, as in a build without it.
 */
export function readDocuments(folder: URL, origins: Origins): ReadonlyMap<string, Served> {
  const found = new Map<string, Served>()
  const description = new URL('openapi.json', folder)
  if (!existsSync(description)) return found
  const openapi = readFileSync(description, 'utf8')
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  const names = readdirSync(folder).filter((name) => /^[a-z-]+\.(?:md|css|js)$/.test(name))
  for (const name of names.slice(0, MAX_PAGES)) {
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type !== undefined) found.set(`/docs/${name}`, served(type, read(name)))
  }
  const texts = names
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ name, title: /^# (.+)$/m.exec(read(name))?.[1] ?? name }))
  for (const text of texts) {
    found.set(addressOf(text.name), served(HTML, renderTextPage(text, read(text.name), texts)))
  }
  const agents = read('llms.txt')
    .replaceAll('{api_base_url}', origins.apiBaseUrl)
    .replaceAll('{base_url}', origins.baseUrl)
  found.set('/llms.txt', served('text/plain; charset=utf-8', agents))
  found.set('/openapi.json', served('application/json; charset=utf-8', openapi))
  const page = renderPage(DocumentSchema.parse(JSON.parse(openapi)), texts, origins)
  found.set('/docs', served(HTML, page))
  return found
}
