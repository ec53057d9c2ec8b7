import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { DocLanguage } from './doc-page.ts'

type DocLinkProps = { readonly to: string; readonly children: ReactNode; readonly isHere?: boolean }

/** A link to a page of the documentation, to a place of this one, or elsewhere. */
export function DocAnchor({ to, children, isHere = false }: DocLinkProps) {
  const current = isHere ? ({ 'aria-current': 'page' } as const) : {}
  const [, name, hash] = /^\/docs(?:\/([^#.]*))?(?:#(.*))?$/.exec(to) ?? []
  if (!to.startsWith('/docs') || (name === undefined && to.includes('.'))) {
    return (
      <a href={to} rel={to.startsWith('http') ? 'noreferrer' : undefined}>
        {children}
      </a>
    )
  }
  const place = hash === undefined ? {} : { hash }
  if (name === undefined || name === '') {
    return (
      <Link to="/docs" search={keptSearch} {...place} {...current} activeOptions={EXACT}>
        {children}
      </Link>
    )
  }
  return (
    <Link to="/docs/$" params={{ _splat: name }} search={keptSearch} {...place} {...current} activeOptions={EXACT}>
      {children}
    </Link>
  )
}

const EXACT = { exact: true, includeSearch: false, includeHash: true }

/** The language of the examples goes with the reader, a search and a filter do not. */
function keptSearch({ lang }: { readonly lang?: DocLanguage | undefined }) {
  return { lang, search: undefined, filter: undefined }
}
