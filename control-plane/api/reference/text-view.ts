import { escapeHtml } from './markup.ts'

/** Renders a text of the documentation: headings, lists, tables, code and links, the Markdown that our texts use. */
export function renderText(text: string): string {
  return blocksOf(text).map(renderBlock).join('\n')
}

type Block = {
  readonly kind: 'code' | 'heading' | 'table' | 'list' | 'numbers' | 'paragraph'
  readonly lines: string[]
}

const KINDS: readonly (readonly [Block['kind'], RegExp])[] = [
  ['heading', /^#{1,4} /],
  ['table', /^\|/],
  ['list', /^ *- /],
  ['numbers', /^ *\d+\. /],
]

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = []
  let fence: string | undefined
  let isOpen = false
  for (const line of text.split('\n')) {
    const last = blocks.at(-1)
    if (fence !== undefined) {
      if (line.trimEnd() === fence) fence = undefined
      else last?.lines.push(line)
      continue
    }
    const opening = /^(`{3,})/.exec(line)?.[1]
    if (opening !== undefined) {
      fence = opening
      isOpen = false
      blocks.push({ kind: 'code', lines: [] })
    } else if (line.trim() === '') isOpen = false
    else {
      const kind = KINDS.find(([, pattern]) => pattern.test(line))?.[0]
      const goesOn =
        isOpen && last !== undefined && last.kind !== 'heading' && (kind === undefined || kind === last.kind)
      if (goesOn) last.lines.push(line)
      else blocks.push({ kind: kind ?? 'paragraph', lines: [line] })
      isOpen = true
    }
  }
  return blocks
}

function renderBlock({ kind, lines }: Block): string {
  switch (kind) {
    case 'code':
      return `<pre tabindex="0">${escapeHtml(lines.join('\n'))}</pre>`
    case 'heading':
      return renderHeading(lines[0] ?? '')
    case 'table':
      return renderTable(lines)
    case 'list':
      return `<ul>${itemsOf(lines, /^ *- /)}</ul>`
    case 'numbers':
      return `<ol>${itemsOf(lines, /^ *\d+\. /)}</ol>`
    case 'paragraph':
      return `<p>${inline(lines.join(' '))}</p>`
  }
}

function renderHeading(line: string): string {
  const [, marks = '#', words = ''] = /^(#{1,4}) (.*)$/.exec(line) ?? []
  return `<h${marks.length} id="${slugOf(words)}">${inline(words)}</h${marks.length}>`
}

/** The anchor of a heading, in the form of code hosts. */
function slugOf(words: string): string {
  return words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

/** Items with their continuation lines. */
function itemsOf(lines: readonly string[], mark: RegExp): string {
  const items: string[] = []
  for (const line of lines) {
    if (mark.test(line)) items.push(line.replace(mark, ''))
    else items.push(`${items.pop() ?? ''} ${line.trim()}`)
  }
  return items.map((item) => `<li>${inline(item)}</li>`).join('')
}

function cellsOf(line: string): readonly string[] {
  // A bar inside code is escaped in the source, because it is a cell's text.
  const cells = line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
  return cells.map((cell) => cell.replaceAll('\\|', '|').trim())
}

function renderTable([head = '', , ...rows]: readonly string[]): string {
  const row = (line: string, tag: 'th' | 'td') =>
    cellsOf(line)
      .map((cell) => `<${tag}>${inline(cell)}</${tag}>`)
      .join('')
  const body = rows.map((line) => `<tr>${row(line, 'td')}</tr>`).join('')
  return `<div class="wide" tabindex="0"><table><thead><tr>${row(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`
}

/** Code, bold words and links of one line. */
function inline(text: string): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part) =>
      part.startsWith('`') && part.length > 2 ? `<code>${escapeHtml(part.slice(1, -1))}</code>` : words(part),
    )
    .join('')
    .replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_whole, label: string, target: string) => link(label, target))
}

function words(text: string): string {
  return escapeHtml(text).replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
}

/** A link to another text, to a heading of this one, or elsewhere. A file that is not served stays plain text. */
function link(label: string, target: string): string {
  if (/^https?:\/\//.test(target)) return `<a href="${target}" rel="noreferrer">${label}</a>`
  if (/^#[\w-]+$/.test(target)) return `<a href="${target}">${label}</a>`
  const [, name, place = ''] = /^([a-z-]+)\.md(#[\w-]+)?$/.exec(target) ?? []
  if (name !== undefined) return `<a href="/docs/${name}${place}">${label}</a>`
  return target === 'openapi.json' ? `<a href="/openapi.json">${label}</a>` : label
}
