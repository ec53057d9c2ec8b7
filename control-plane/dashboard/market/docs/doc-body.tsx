import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { createElement } from 'react'
import { CopyButton } from '#control-plane/dashboard/ui/copy.tsx'
import { Segments } from '#control-plane/dashboard/ui/fields.tsx'
import { DocAnchor } from './doc-link.tsx'
import type { DocElement, DocLanguage, DocNode } from './doc-page.ts'
import { DOC_LANGUAGES } from './doc-page.ts'
import { RunCall } from './run-call.tsx'

/** Draws the parts of a page. */
export function DocBody({ nodes }: { readonly nodes: readonly DocNode[] }) {
  return nodes.map((node, at) => draw(node, at))
}

function draw(node: DocNode, key: number): ReactNode {
  if (typeof node === 'string') return node
  const [tag, attributes, ...children] = node
  const { className, href, hidden: _hidden, dataLanguage, tabIndex, ...others } = attributes
  if (tag === 'a' && href !== undefined) {
    return (
      <DocAnchor key={key} to={href}>
        {children.map(draw)}
      </DocAnchor>
    )
  }
  if (className === 'tabs') return <CodeTabs key={key} blocks={children} />
  if (className === 'code') {
    return dataLanguage === 'console' ? (
      <RunCall key={key} facts={wordsOf(node)} />
    ) : (
      <CodeBlock key={key} block={node} />
    )
  }
  const scroll = tabIndex === undefined ? {} : { tabIndex: Number(tabIndex) }
  return createElement(tag, { key, className, ...scroll, ...others }, ...children.map(draw))
}

function wordsOf(node: DocNode): string {
  if (typeof node === 'string') return node
  const [, , ...children] = node
  return children.map(wordsOf).join('')
}

function CodeBlock({ block }: { readonly block: DocElement }) {
  const [, , ...children] = block
  return (
    <div className="code">
      {children.map(draw)}
      <CopyButton text={wordsOf(block).trimEnd()} />
    </div>
  )
}

const LABELS: Readonly<Record<DocLanguage, string>> = {
  sh: 'curl',
  python: 'Python',
  ts: 'TypeScript',
  js: 'JavaScript',
}

function languageOf(block: DocNode): DocLanguage | undefined {
  if (typeof block === 'string') return undefined
  const [, { dataLanguage }] = block
  return DOC_LANGUAGES.find((language) => language === dataLanguage)
}

/** An example in several languages. The chosen one is in the address, and holds for the next page. */
function CodeTabs({ blocks }: { readonly blocks: readonly DocNode[] }) {
  const { lang } = useSearch({ strict: false })
  const navigate = useNavigate()
  const choices = blocks.flatMap((block) => {
    const value = languageOf(block)
    if (value === undefined) return []
    const isShell = value === 'sh' && !wordsOf(block).startsWith('curl')
    return [{ value, label: isShell ? 'Shell' : LABELS[value] }]
  })
  const [first] = choices
  if (first === undefined) return null
  const chosen = choices.find(({ value }) => value === lang)?.value ?? first.value
  const block = blocks.find((one) => languageOf(one) === chosen)
  return (
    <div className="tabs">
      <Segments
        label="Language"
        value={chosen}
        choices={choices}
        onChoose={(next) =>
          void navigate({ to: '.', search: (now) => ({ ...now, lang: next }), replace: true, resetScroll: false })
        }
      />
      {block === undefined || typeof block === 'string' ? null : <CodeBlock block={block} />}
    </div>
  )
}
