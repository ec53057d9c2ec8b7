import { useQuery } from '@tanstack/react-query'
import { useLoaderData, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { count } from '#control-plane/dashboard/data/format.ts'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { useTitle } from '#control-plane/dashboard/ui/page.tsx'
import { ErrorNotice, SkeletonRows } from '#control-plane/dashboard/ui/states.tsx'
import { DocBody } from './doc-body.tsx'
import { DocAnchor } from './doc-link.tsx'
import type { DocLink, DocMenu, DocPage } from './doc-page.ts'
import { REFERENCE } from './doc-page.ts'
import { DocsMenu } from './docs-menu.tsx'
import { markedParts } from './marked-parts.ts'
import { OperationList } from './operation-list.tsx'
import type { DocsFound } from './search-docs.ts'

/** A page of the documentation with its menu, or what a search found. */
export function DocsPage() {
  const { path, page, menu } = useLoaderData({ strict: false }) ?? {}
  const { search = '' } = useSearch({ strict: false })
  const navigate = useNavigate()
  const hash = useLocation({ select: (location) => location.hash })
  useOldAnchors(menu, path)
  useTitle(page?.title ?? 'Docs')
  if (path === undefined || page === undefined || menu === undefined) return null
  const onSearch = (text: string) =>
    void navigate({
      to: '.',
      search: (now) => ({ ...now, search: text === '' ? undefined : text }),
      replace: true,
      ...(text === '' && hash !== '' ? { hash } : {}),
    })
  return (
    <div className="page docs">
      <div className="docs-side">
        <Search label="Search the docs" value={search} onSearch={onSearch} placeholder="webhook, 402, payout" />
        <DocsMenu menu={menu} path={path} />
      </div>
      <article className="docs-text">
        {search === '' ? <Text page={page} path={path} menu={menu} /> : <Found text={search} />}
      </article>
      {search === '' ? <Chapters page={page} /> : null}
    </div>
  )
}

type TextProps = { readonly page: DocPage; readonly path: string; readonly menu: DocMenu }

function Text({ page, path, menu }: TextProps) {
  const all: readonly (DocLink & { readonly others?: readonly string[] })[] = [
    ...menu.texts.flatMap(({ links }) => links),
    ...menu.operations.flatMap(({ operations }) =>
      operations.flatMap(({ label, places: [first, ...others] }) =>
        first === undefined ? [] : [{ to: first.to, label, others: others.map(({ to }) => to) }],
      ),
    ),
  ]
  const at = all.findIndex(({ to, others }) => to === path || others?.includes(path))
  const before = at > 0 ? all[at - 1] : undefined
  const after = at < 0 ? undefined : all[at + 1]
  return (
    <>
      <h1>{page.title}</h1>
      <DocBody nodes={page.body} />
      {path === REFERENCE ? <OperationList groups={menu.operations} /> : null}
      <footer className="docs-foot">
        {before === undefined ? <span /> : <DocAnchor to={before.to}>← {before.label}</DocAnchor>}
        {after === undefined ? <span /> : <DocAnchor to={after.to}>{after.label} →</DocAnchor>}
        <a href={page.source}>Markdown of this page</a>
      </footer>
    </>
  )
}

/** Shortest list of chapters that is worth its room. */
const MIN_CHAPTERS = 2

function Chapters({ page }: { readonly page: DocPage }) {
  if (page.chapters.length < MIN_CHAPTERS) return null
  return (
    <nav className="docs-chapters" aria-label="On this page">
      <h2>On this page</h2>
      <ul>
        {page.chapters.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`}>{title}</a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Found({ text }: { readonly text: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['docs-search'],
    queryFn: () => import('./search-docs.ts').then(({ openSearch }) => openSearch()),
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  })
  const { hits, total } = data?.(text) ?? NOTHING
  return (
    <>
      <h1>Search: {text}</h1>
      {error === null ? null : <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null ? (
        <div aria-busy="true">
          <SkeletonRows />
        </div>
      ) : null}
      {data === undefined ? null : (
        <p className="muted">
          {total === 0
            ? 'Nothing found. Try fewer or other words.'
            : total > hits.length
              ? `The best ${hits.length} of ${count(total)} results`
              : `${total} ${total === 1 ? 'result' : 'results'}`}
        </p>
      )}
      <ol className="docs-found" aria-label="Results">
        {hits.map(({ to, title, page, excerpt }) => (
          <li key={to}>
            <DocAnchor to={to}>
              <Marked text={title} search={text} />
            </DocAnchor>
            {page === title ? null : <span className="muted small"> {page}</span>}
            <p className="small muted">
              <Marked text={excerpt} search={text} />
            </p>
          </li>
        ))}
      </ol>
    </>
  )
}

const NOTHING: DocsFound = { hits: [], total: 0 }

/** A text in which the searched words are marked. */
function Marked({ text, search }: { readonly text: string; readonly search: string }) {
  return markedParts(text, search).map((part) =>
    part.isMarked ? <mark key={part.start}>{part.text}</mark> : part.text,
  )
}

/** Redirects old addresses: the reference was one page, with the operation behind the hash. */
function useOldAnchors(menu: DocMenu | undefined, path: string | undefined): void {
  const navigate = useNavigate()
  useEffect(() => {
    if (path !== '/docs' || menu === undefined) return
    const name = location.hash.slice(1)
    const isOperation = menu.operations.some(({ operations }) =>
      operations.some(({ places }) => places.some(({ to }) => to === `${REFERENCE}/${name}`)),
    )
    if (isOperation) void navigate({ to: '/docs/$', params: { _splat: `reference/${name}` }, replace: true })
  }, [navigate, menu, path])
}
