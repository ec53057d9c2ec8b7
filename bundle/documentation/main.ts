import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import MiniSearch from 'minisearch'
import type {
  DocGroup,
  DocMenu,
  DocNode,
  DocPage,
  OperationGroup,
} from '#control-plane/dashboard/market/docs/doc-page.ts'
import { REFERENCE, SEARCH_OPTIONS } from '#control-plane/dashboard/market/docs/doc-page.ts'
import { DescriptionSchema } from './description.ts'
import { withExample } from './example-answer.ts'
import type { Tree } from './page-tree.ts'
import { chaptersOf, htmlOf, nodesOf, readTree, sectionsOf } from './page-tree.ts'
import { operationGroups, referencePages } from './reference-pages.ts'

// Makes the pages of `/docs` from the folder of texts and the description of the doors, with their menu and their
// search index. Run by the build of the page.

const [, , outDir = ''] = process.argv
const FOLDER = fileURLToPath(new URL('../../docs/', import.meta.url))
const CHANGELOG = fileURLToPath(new URL('../../CHANGELOG.md', import.meta.url))
/** The list of texts in the repository is the menu and the first page. */
const INDEX = 'README.md'
const MAX_TEXTS = 100
const EXCERPT_CHARACTERS = 160

/** Sections of an operation that are code. */
const CODE_SECTIONS = new Set(['example', 'example-response'])
/** Sections of an operation that are alike in all operations. */
const ALIKE = new Set(['example', 'example-response', 'errors'])

const description = DescriptionSchema.parse(JSON.parse(readFileSync(join(FOLDER, 'openapi.json'), 'utf8'), withExample))
const texts = readdirSync(FOLDER)
  .filter((name) => /^[a-z-]+\.md$/.test(name))
  .slice(0, MAX_TEXTS)

/** The place of a text's link on the page. */
function linkOf(target: string): string | undefined {
  if (target.startsWith('#') || target.startsWith('/')) return target
  const [, file = '', place = ''] = /^([^#]+)(#.+)?$/.exec(target) ?? []
  if (file === INDEX) return `/docs${place}`
  if (file === '../CHANGELOG.md') return '/docs/changelog'
  if (file === 'openapi.json') return '/docs/reference'
  if (file === 'llms.txt') return '/llms.txt'
  if (file.startsWith('examples/')) return `/docs/${file}`
  return texts.includes(file) ? `/docs/${file.replace(/\.md$/, '')}${place}` : undefined
}

type Written = { readonly path: string; readonly tree: Tree }

async function readTexts(): Promise<readonly Written[]> {
  const sources = [
    ['/docs', join(FOLDER, INDEX)],
    ['/docs/changelog', CHANGELOG],
    ...texts.map((name): [string, string] => [`/docs/${name.replace(/\.md$/, '')}`, join(FOLDER, name)]),
  ] as const
  return Promise.all(
    sources.map(async ([path, file]) => ({
      path,
      tree: await readTree(readFileSync(file, 'utf8'), linkOf),
    })),
  )
}

async function readReference(): Promise<readonly Written[]> {
  return Promise.all(
    referencePages(description).map(async ({ name, markdown }) => {
      write(`${name}.md`, markdown)
      const tree = await readTree(markdown, linkOf)
      return { path: `/docs/${name}`, tree }
    }),
  )
}

function write(name: string, text: string): void {
  const file = join(outDir, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The groups of the first page: each chapter of it with its links. */
function menuOf(index: Tree): readonly DocGroup[] {
  const chapters: { title: string; links: { to: string; label: string }[] }[] = []
  const walk = (node: ReturnType<typeof nodesOf>[number]): void => {
    if (typeof node === 'string') return
    const [tag, attributes, ...children] = node
    const words = children.filter((child) => typeof child === 'string').join('')
    if (tag === 'h2') chapters.push({ title: words, links: [] })
    else if (tag === 'a' && attributes['href'] !== undefined)
      chapters.at(-1)?.links.push({ to: attributes['href'], label: words })
    else for (const child of children) walk(child)
  }
  for (const node of nodesOf(index)) walk(node)
  return chapters
}

const pages = [...(await readTexts()), ...(await readReference())]
const [index] = pages
if (index === undefined) throw new Error('there is no first page')
const listed = pages.find(({ path }) => path === REFERENCE)
const groups: readonly OperationGroup[] = operationGroups(description).map((group) => ({
  ...group,
  id: chaptersOf(listed?.tree ?? index.tree).find(({ title }) => title === group.title)?.id ?? '',
}))
/** Operations at a path that is not their usual one. A search finds the usual one. */
const otherPlaces = new Set(
  groups.flatMap(({ operations }) => operations.flatMap(({ places }) => places.slice(1).map(({ to }) => to))),
)
const menu: DocMenu = { texts: menuOf(index.tree), operations: groups }
write('menu.json', JSON.stringify(menu))

writePages()
write('pages.json', JSON.stringify(pages.map(({ path, tree: { title, about } }) => ({ path, title, about }))))

/** Writes each page, and the search index over all of them. */
function writePages(): void {
  const index = new MiniSearch<Record<string, string>>(SEARCH_OPTIONS)
  for (const { path, tree } of pages) {
    const name = path === '/docs' ? 'index' : path.slice('/docs/'.length)
    const page: DocPage = {
      title: tree.title,
      body: path === REFERENCE ? beforeGroups(nodesOf(tree)) : besideCode(nodesOf(tree)),
      // The chapters of the first page are the menu.
      chapters: path === '/docs' ? [] : chaptersOf(tree),
      source: path === '/docs' ? '/docs/README.md' : `${path}.md`,
    }
    write(`${name}.json`, JSON.stringify(page))
    write(`${name}.html`, htmlOf(tree))
    if (path.startsWith(`${REFERENCE}/schemas/`) || otherPlaces.has(path)) continue
    for (const { id, title, text } of searchedOf(path, tree)) {
      index.add({ id, title, page: tree.title, text, excerpt: excerptOf(text) })
    }
  }
  write('search.json', JSON.stringify(index))
}

/** The body of the reference up to its first group. The page draws the groups from the menu, and filters them. */
function beforeGroups(nodes: readonly DocNode[]): readonly DocNode[] {
  const at = nodes.findIndex((node) => typeof node !== 'string' && node[1]['id'] === groups[0]?.id)
  return at < 0 ? nodes : nodes.slice(0, at)
}

/** The anchor of a chapter's heading. Undefined for any other part. */
function idOf(node: DocNode): string | undefined {
  return typeof node === 'string' || node[0] !== 'h2' ? undefined : node[1]['id']
}

/** An operation in three parts: the text, the example with its answer, and the fields. A wide page has two columns. */
function besideCode(nodes: readonly DocNode[]): readonly DocNode[] {
  const from = nodes.findIndex((node) => idOf(node) === 'example')
  if (from < 0) return nodes
  const next = nodes.findIndex(
    (node, at) => at > from && idOf(node) !== undefined && !CODE_SECTIONS.has(idOf(node) ?? ''),
  )
  const to = next < 0 ? nodes.length : next
  return [
    ['div', { className: 'call-about' }, ...nodes.slice(0, from)],
    ['div', { className: 'call-code' }, ...nodes.slice(from, to)],
    ['div', { className: 'call-fields' }, ...nodes.slice(to)],
  ]
}

/** The beginning of a text, which ends with a whole word. */
function excerptOf(text: string): string {
  if (text.length <= EXCERPT_CHARACTERS) return text
  return `${text.slice(0, EXCERPT_CHARACTERS).replace(/\s+\S*$/, '')} …`
}

type Searched = { readonly id: string; readonly title: string; readonly text: string }

/** Parts of a page that a search finds: an operation as a whole, a text by its sections. */
function searchedOf(path: string, tree: Tree): readonly Searched[] {
  const sections = sectionsOf(tree)
  if (path.startsWith(`${REFERENCE}/`)) {
    const text = sections.flatMap((section) => (ALIKE.has(section.id) ? [] : section.text)).join(' ')
    return [{ id: path, title: tree.title, text }]
  }
  const groupIds = new Set(path === REFERENCE ? groups.map(({ id }) => id) : [])
  return sections
    .filter(({ id, text }) => !groupIds.has(id) && (id === '' || text !== ''))
    .map(({ id, title, text }) => ({ id: id === '' ? path : `${path}#${id}`, title, text }))
}
