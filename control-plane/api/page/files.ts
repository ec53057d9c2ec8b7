import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Origins } from '#control-plane/api/reference/documents.ts'
import type { Theme } from '#control-plane/api/theme.ts'
import { inTheme } from '#control-plane/api/theme.ts'
import type { ScreenHead } from '#control-plane/dashboard/market/public-heads.ts'
import { PUBLIC_HEADS } from '#control-plane/dashboard/market/public-heads.ts'
import { readDocHeads } from './doc-heads.ts'
import type { EmbeddedData } from './embedded-data.ts'
import { withDoc, withHead, withHome, withTitle } from './head-markup.ts'
import { readScreenScripts } from './screen-scripts.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const TITLES: ReadonlyMap<string, ScreenHead> = new Map(Object.entries(PUBLIC_HEADS))
/** A folder with more files is not our page. */
const MAX_FILES = 500
const BROTLI_QUALITY = 9

/** A text in the encodings that browsers accept. */
export type Encoded = { readonly plain: Buffer; readonly gzip: Buffer; readonly br: Buffer }
type File = { readonly contentType: string; readonly body: () => Promise<Encoded> }

/** The document of a screen, with a hash of its text. */
export type PageDocument = { readonly etag: string; readonly body: () => Promise<Encoded> }

/** The files of the built page, kept in memory. */
export type PageFiles = {
  asset(name: string): File | undefined
  /**
   * The document at a path, in a theme or in the system's theme. It names the scripts of the path's screen. A document
   * with a head is made for each answer, because its figures change.
   */
  document(path: string, theme: Theme | undefined, embedded: EmbeddedData | undefined): PageDocument
  /** The document of a page of the documentation. Undefined for a path that has none. */
  documentation(path: string, theme: Theme | undefined): PageDocument | undefined
}

/** Reads the built page. Undefined when it was not built. */
export function openPageFiles(folder: URL, origins: Origins): PageFiles | undefined {
  const index = new URL('index.html', folder)
  if (!existsSync(index)) return undefined
  const html = readFileSync(index, 'utf8')
  const assets = new URL('assets/', folder)
  const names = readdirSync(assets).slice(0, MAX_FILES)
  const files = new Map(
    names.map((name) => [
      name,
      {
        contentType: TYPES[extname(name)] ?? 'application/octet-stream',
        body: encoder(readFileSync(new URL(name, assets))),
      },
    ]),
  )
  const scriptsOf = readScreenScripts(folder)
  const textOf = (scripts: readonly string[], theme: Theme | undefined): string => {
    const links = scripts.map((file) => `<link rel="modulepreload" crossorigin href="/${file}">`).join('')
    return inTheme(html, theme).replace('</head>', `${links}</head>`)
  }
  // A document for each screen and theme, not for each path.
  const documents = new Map<string, PageDocument>()
  const docAt = readDocHeads(new URL('docs/', folder), origins)
  const docDocuments = new Map<string, PageDocument>()
  return {
    asset: (name) => files.get(name),
    documentation(path, theme) {
      const key = `${theme} ${path}`
      const known = docDocuments.get(key)
      if (known !== undefined) return known
      const doc = docAt(path)
      if (doc === undefined) return undefined
      const made = documentOf(withDoc(textOf(scriptsOf(path), theme), doc))
      docDocuments.set(key, made)
      return made
    },
    document(path, theme, embedded) {
      const scripts = scriptsOf(path)
      const { head, pageData } = embedded ?? {}
      if (head !== undefined && pageData !== undefined)
        return documentOf(withHead(textOf(scripts, theme), head, pageData))
      const title = TITLES.get(path)
      const key = `${theme} ${scripts[0]} ${title?.title} ${pageData !== undefined}`
      const known = documents.get(key)
      if (known !== undefined) return known
      const text = textOf(scripts, theme)
      const pageDocument = documentOf(
        pageData !== undefined ? withHome(text, pageData) : title !== undefined ? withTitle(text, title) : text,
      )
      documents.set(key, pageDocument)
      return pageDocument
    },
  }
}

function documentOf(text: string): PageDocument {
  return { etag: `"${createHash('sha1').update(text).digest('base64url')}"`, body: encoder(Buffer.from(text)) }
}

/** Compresses a text once, on first use. */
function encoder(plain: Buffer): () => Promise<Encoded> {
  let made: Promise<Encoded> | undefined
  return () => {
    made ??= encode(plain)
    return made
  }
}

async function encode(plain: Buffer): Promise<Encoded> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const [zipped, br] = await Promise.all([promisify(gzip)(plain), promisify(brotliCompress)(plain, { params })])
  return { plain, gzip: zipped, br }
}
