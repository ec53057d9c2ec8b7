import type { Element, ElementContent, Root, RootContent } from 'hast'
import { toString as textOf } from 'hast-util-to-string'
import rehypeHighlight from 'rehype-highlight'
import rehypeSlug from 'rehype-slug'
import rehypeStringify from 'rehype-stringify'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import remarkRehype from 'remark-rehype'
import { unified } from 'unified'
import type { DocNode } from '#control-plane/dashboard/market/docs/doc-page.ts'
import { DOC_LANGUAGES } from '#control-plane/dashboard/market/docs/doc-page.ts'

/** A text with its title and its parts, for the next steps of the build. */
export type Tree = { readonly title: string; readonly about: string; readonly root: Root }

const reader = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype)
  .use(rehypeSlug)
  .use(rehypeHighlight, { detect: false })
const writer = unified().use(rehypeStringify)

/** Where a link of a text leads on the page. Undefined for a file that is not served. */
export type LinkOf = (target: string) => string | undefined

/** Reads Markdown. Links lead to pages, and what scrolls can be scrolled by keyboard. */
export async function readTree(markdown: string, linkOf: LinkOf): Promise<Tree> {
  const root = await reader.run(reader.parse(markdown))
  const at = root.children.findIndex((node) => isElement(node, 'h1'))
  const title = textOf(root.children[at] ?? root)
  const children = root.children.filter(
    (node, index) => index !== at && (node.type !== 'text' || node.value.trim() !== ''),
  )
  const about = textOf(children.find((node) => isElement(node, 'p')) ?? { type: 'root', children: [] })
  return { title, about, root: { type: 'root', children: withTabs(children.map((node) => prepared(node, linkOf))) } }
}

/** The HTML of a text, for readers without a script. */
export function htmlOf({ root }: Tree): string {
  return writer.stringify(root)
}

/** The body of a text for the page's script. */
export function nodesOf({ root }: Tree): readonly DocNode[] {
  return root.children.flatMap(nodeOf)
}

/** Sections of a text, without folded examples. The part before the first chapter has the title of the page. */
export function sectionsOf({
  title,
  root,
}: Tree): { readonly id: string; readonly title: string; readonly text: string }[] {
  const sections = [{ id: '', title, parts: [] as string[] }]
  for (const node of root.children) {
    if (node.type === 'element' && ['h2', 'h3'].includes(node.tagName)) {
      sections.push({ id: String(node.properties['id'] ?? ''), title: textOf(node), parts: [] })
    } else if (!isElement(node, 'details')) sections.at(-1)?.parts.push(textOf(node))
  }
  return sections.map(({ id, title: name, parts }) => ({
    id,
    title: name,
    text: parts.join(' ').replaceAll(/\s+/g, ' '),
  }))
}

/** The chapters of a text. */
export function chaptersOf({ root }: Tree): { readonly id: string; readonly title: string }[] {
  return root.children.flatMap((node) =>
    node.type === 'element' && node.tagName === 'h2'
      ? [{ id: String(node.properties['id'] ?? ''), title: textOf(node) }]
      : [],
  )
}

function isElement(node: RootContent | undefined, tag: string): node is Element {
  return node?.type === 'element' && node.tagName === tag
}

function prepared<Node extends RootContent | ElementContent>(node: Node, linkOf: LinkOf): Node | Element {
  if (node.type !== 'element') return node
  const children = node.children.map((child) => prepared(child, linkOf))
  const element: Element = { ...node, children }
  switch (node.tagName) {
    case 'a':
      return linked(element, linkOf)
    case 'pre': {
      const block = around('code', { ...element, properties: { tabIndex: 0 } }, languageOf(element))
      return isFolded(element) ? folded(block) : block
    }
    case 'table':
      return around('wide', element)
    case 'tr':
      return named(element)
    default:
      return element
  }
}

/** A row that begins with nothing but a name in code can be linked to by that name, as an error by its code. */
function named(row: Element): Element {
  const cell = row.children.find((child) => child.type === 'element')
  const [code, ...others] = cell?.children ?? []
  const name = others.length === 0 && isElement(code, 'code') ? textOf(code) : ''
  return /^[a-z]+(?:_[a-z]+)+$/.test(name) ? { ...row, properties: { id: name } } : row
}

function around(name: string, element: Element, language?: string): Element {
  const properties = name === 'wide' ? { tabIndex: 0 } : language === undefined ? {} : { dataLanguage: language }
  return { type: 'element', tagName: 'div', properties: { className: [name], ...properties }, children: [element] }
}

/** True for a block of code with the word "folded" after its language, such as a long example. */
function isFolded({ children: [code] }: Element): boolean {
  return code?.type === 'element' && code.data?.meta === 'folded'
}

function folded(block: Element): Element {
  const summary: Element = {
    type: 'element',
    tagName: 'summary',
    properties: {},
    children: [{ type: 'text', value: 'Example' }],
  }
  return { type: 'element', tagName: 'details', properties: { className: ['folded'] }, children: [summary, block] }
}

function languageOf({ children: [code] }: Element): string | undefined {
  const names = code?.type === 'element' ? code.properties['className'] : undefined
  const name = Array.isArray(names) ? names.map(String).find((one) => one.startsWith('language-')) : undefined
  return name?.slice('language-'.length)
}

function linked(element: Element, linkOf: LinkOf): Element {
  const target = String(element.properties['href'] ?? '')
  if (/^https?:/.test(target)) return { ...element, properties: { href: target } }
  const href = linkOf(target)
  return href === undefined ? { ...element, tagName: 'span', properties: {} } : { ...element, properties: { href } }
}

/** Puts blocks of code in several languages, which follow each other, into one element with a tab for each. */
function withTabs(nodes: readonly RootContent[]): RootContent[] {
  const grouped: RootContent[] = []
  for (const node of nodes) {
    const last = grouped.at(-1)
    const language = codeLanguage(node)
    if (language === undefined || last?.type !== 'element' || node.type !== 'element') grouped.push(node)
    else if (isTabs(last)) {
      if (last.children.some((child) => codeLanguage(child) === language)) grouped.push(node)
      else last.children.push({ ...node, properties: { ...node.properties, hidden: true } })
    } else if (codeLanguage(last) !== undefined && codeLanguage(last) !== language) {
      grouped.pop()
      const second = { ...node, properties: { ...node.properties, hidden: true } }
      grouped.push({ type: 'element', tagName: 'div', properties: { className: [TABS] }, children: [last, second] })
    } else grouped.push(node)
  }
  return grouped
}

const TABS = 'tabs'

function isTabs({ properties }: Element): boolean {
  return Array.isArray(properties['className']) && properties['className'].includes(TABS)
}

function codeLanguage(node: RootContent | ElementContent): string | undefined {
  if (node.type !== 'element') return undefined
  const language = node.properties['dataLanguage']
  return DOC_LANGUAGES.find((choice) => choice === language)
}

function nodeOf(node: RootContent | ElementContent): DocNode[] {
  if (node.type === 'text') return [node.value]
  if (node.type !== 'element') return []
  const attributes = Object.entries(node.properties).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === null || value === false) return []
    return [[name, Array.isArray(value) ? value.join(' ') : String(value)]]
  })
  return [[node.tagName, Object.fromEntries(attributes), ...node.children.flatMap(nodeOf)]]
}
