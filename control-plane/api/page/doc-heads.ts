import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Origins } from '#control-plane/api/reference/documents.ts'
import { withOrigins } from '#control-plane/api/reference/documents.ts'
import type { DocHead } from './head-markup.ts'

const Pages = z.array(z.object({ path: z.string(), title: z.string(), about: z.string() }))
const FIRST = '/docs'

/** The pages of the documentation that the build made, by path. Undefined for a path that has none. */
export function readDocHeads(folder: URL, origins: Origins): (path: string) => DocHead | undefined {
  const list = new URL('pages.json', folder)
  if (!existsSync(list)) return () => undefined
  const pages = Pages.parse(JSON.parse(readFileSync(list, 'utf8')))
  const pageByPath = new Map(pages.map((page) => [page.path, page]))
  return (path) => {
    const page = pageByPath.get(path)
    if (page === undefined) return undefined
    const name = path === FIRST ? 'index' : path.slice(FIRST.length + 1)
    return { ...page, html: withOrigins(readFileSync(new URL(`${name}.html`, folder), 'utf8'), origins) }
  }
}
