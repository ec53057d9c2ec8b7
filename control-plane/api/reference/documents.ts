import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Theme } from '#control-plane/api/theme.ts'
import { inTheme } from '#control-plane/api/theme.ts'
import type { Origins } from './document.ts'
import { DocumentSchema } from './document.ts'
import { addressOf, renderPage, renderTextPage } from './page.ts'

/** A served file. It is kept in memory with a hash of its bytes. */
export type Served = { readonly contentType: string; readonly text: string; readonly etag: string }

/** A file that is made on first use and then kept. Pages differ by theme, and have an ETag for each. */
export type DocumentFile = { readonly isThemed: boolean; inTheme(theme: Theme | undefined): Served }

const HTML = 'text/html; charset=utf-8'

const MAX_PAGES = 50
const TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

function fileOf(contentType: string, text: () => string): DocumentFile {
  const servedByTheme = new Map<Theme | undefined, Served>()
  const isThemed = contentType === HTML
  return {
    isThemed,
    inTheme(theme) {
      const askedTheme = isThemed ? theme : undefined
      const known =
        servedByTheme.get(askedTheme) ??
        served(contentType, askedTheme === undefined ? text() : inTheme(text(), askedTheme))
      servedByTheme.set(askedTheme, known)
      return known
    },
  }
}

function served(contentType: string, text: string): Served {
  return { contentType, text, etag: `"${createHash('sha1').update(text).digest('base64url')}"` }
}

/**
 * The folder of the documentation by path: the description, the page that shows it, the note for agents and the texts.
 * Empty when the folder is missing, as in a build without it. Rendering takes longer than the rest of a server's start.
 */
export function readDocuments(folder: URL, origins: Origins): ReadonlyMap<string, DocumentFile> {
  const filesByName = new Map<string, DocumentFile>()
  const description = new URL('openapi.json', folder)
  if (!existsSync(description)) return filesByName
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  const names = readdirSync(folder)
    .filter((name) => /^[a-z-]+\.(?:md|css|js)$/.test(name))
    .slice(0, MAX_PAGES)
  for (const name of names) {
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type !== undefined)
      filesByName.set(
        `/docs/${name}`,
        fileOf(type, () => read(name)),
      )
  }
  const texts = names
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ name, title: /^# (.+)$/m.exec(read(name))?.[1] ?? name }))
  for (const text of texts) {
    const render = () => renderTextPage(text, read(text.name), texts)
    filesByName.set(addressOf(text.name), fileOf(HTML, render))
  }
  const agents = () =>
    read('llms.txt').replaceAll('{api_base_url}', origins.apiBaseUrl).replaceAll('{base_url}', origins.baseUrl)
  filesByName.set('/llms.txt', fileOf('text/plain; charset=utf-8', agents))
  filesByName.set(
    '/openapi.json',
    fileOf('application/json; charset=utf-8', () => read('openapi.json')),
  )
  const page = () => renderPage(DocumentSchema.parse(JSON.parse(read('openapi.json'))), texts, origins)
  filesByName.set('/docs', fileOf(HTML, page))
  return filesByName
}
