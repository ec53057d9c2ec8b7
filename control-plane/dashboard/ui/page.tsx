import type { ReactNode } from 'react'
import { useEffect } from 'react'
import { BRAND_NAME } from './brand-mark.ts'

type PageProps = {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A screen with its heading. */
export function Page({ title, about, actions, children }: PageProps) {
  useTitle(title)
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about === undefined ? null : <p>{about}</p>}
        </div>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${BRAND_NAME}`
  }, [title])
}

type CardProps = {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  /** True for a table, which has its own edges. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}

export function Card({ title, about, actions, isFlush = false, children }: CardProps) {
  return (
    <section className="card" aria-label={title}>
      <div className="card-head">
        <div>
          <h2>{title}</h2>
          {about === undefined ? null : <p>{about}</p>}
        </div>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </div>
      {isFlush ? children : <div className="card-body">{children}</div>}
    </section>
  )
}

export type Figure = { readonly label: string; readonly value: ReactNode; readonly hint?: ReactNode }

/** A row of figures. */
export function Stats({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <div className="stats">
      {figures.map(({ label, value, hint }) => (
        <dl key={label} className="stat">
          <dt>{label}</dt>
          <dd>{value}</dd>
          {hint === undefined ? null : <dd>{hint}</dd>}
        </dl>
      ))}
    </div>
  )
}

export type Fact = readonly [label: string, value: ReactNode]

/** Names and values. On a phone, sentences are below their names. */
export function Facts({ facts, isOfSentences = false }: { readonly facts: readonly Fact[]; isOfSentences?: boolean }) {
  return (
    <dl className={isOfSentences ? 'facts sentences' : 'facts'}>
      {facts.map(([label, value]) => (
        <div key={label} style={{ display: 'contents' }}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
