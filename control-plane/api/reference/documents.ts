import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** The addresses that callers of this market use. */
export type Origins = { readonly baseUrl: string; readonly apiBaseUrl: string }

/** A served file. It is kept in memory with a hash of its bytes. */
export type Served = { readonly contentType: string; readonly text: string; readonly etag: string }

/** Folders with what `/docs` serves. */
export type DocumentFolders = {
  /** The texts as they are in the repository. */
  readonly texts: URL
  /** The pages that the build of the page made. They are missing where it was not built. */
  readonly pages: URL
}

const MAX_FILES = 3_000
const TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  json: 'application/json; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  ts: 'text/plain; charset=utf-8',
  py: 'text/x-python; charset=utf-8',
  sh: 'text/x-shellscript; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
}
const TEXTS = /^(?:[a-z-]+|README)\.md$|^examples\/[\w-]+\.(?:mjs|ts|py|sh)$/
const PAGES = /^[\w/-]+\.(?:json|md)$/

/**
 * The files of the documentation by path: the description of the doors, the note for agents, the texts, and the data
 * from which pages are drawn. Undefined for any other path. A file is read when it is first asked for.
 */
export function readDocuments(
  { texts, pages }: DocumentFolders,
  origins: Origins,
): (path: string) => Served | undefined {
  const places = new Map([
    ...namesIn(pages, PAGES).map((name): [string, URL] => [`/docs/${name}`, new URL(name, pages)]),
    ...namesIn(texts, TEXTS).map((name): [string, URL] => [`/docs/${name}`, new URL(name, texts)]),
    ['/docs/changelog.md', new URL('../CHANGELOG.md', texts)],
    ['/llms.txt', new URL('llms.txt', texts)],
    ['/openapi.json', new URL('openapi.json', texts)],
  ])
  const servedByPath = new Map<string, Served>()
  return (path) => {
    const place = places.get(path)
    if (place === undefined) return undefined
    const known = servedByPath.get(path) ?? served(place, origins)
    if (known !== undefined) servedByPath.set(path, known)
    return known
  }
}

function namesIn(folder: URL, pattern: RegExp): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => pattern.test(name))
    .slice(0, MAX_FILES)
}

function served(place: URL, origins: Origins): Served | undefined {
  if (!existsSync(place)) return undefined
  const text = withOrigins(readFileSync(place, 'utf8'), origins)
  const contentType = TYPES[place.pathname.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8'
  return { contentType, text, etag: `"${createHash('sha1').update(text).digest('base64url')}"` }
}

/** The addresses that the texts show, which are those of `npm start`. */
const SHOWN = { api: 'http://127.0.0.1:8402', page: 'http://localhost:8402' }

/** Writes the addresses of this market into a text, so that its commands can be pasted as they are. */
export function withOrigins(text: string, { baseUrl, apiBaseUrl }: Origins): string {
  return text
    .replaceAll('{api_base_url}', apiBaseUrl)
    .replaceAll('{base_url}', baseUrl)
    .replaceAll(SHOWN.api, apiBaseUrl)
    .replaceAll(SHOWN.page, baseUrl)
}
