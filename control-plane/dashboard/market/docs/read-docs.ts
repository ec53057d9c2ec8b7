import { notFound } from '@tanstack/react-router'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import type { DocMenu, DocPage } from './doc-page.ts'

/** A page with the menu beside it. */
export type DocScreen = { readonly path: string; readonly page: DocPage; readonly menu: DocMenu }

/** The file of the first page. */
const FIRST = 'index'

/** Reads a page by its path below `/docs/`. The browser keeps the menu for the next one. */
export async function readDocs(name: string): Promise<DocScreen> {
  const [page, menu]: [DocPage, DocMenu] = await Promise.all([
    readFile(`/docs/${name === '' ? FIRST : name}.json`),
    readFile('/docs/menu.json'),
  ])
  return { path: name === '' ? '/docs' : `/docs/${name}`, page, menu }
}

async function readFile(address: string) {
  const answer = await fetch(address).catch(() => undefined)
  if (answer === undefined) throw new MarketError('unreachable', 'The market does not answer. Try again.')
  if (answer.status === 404) throw notFound()
  if (!answer.ok) throw new MarketError('service_unavailable', `The page could not be read (${answer.status}).`)
  return answer.json()
}
