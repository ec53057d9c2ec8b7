import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { createContext, use } from 'react'
import { failureOf, MarketError } from '#control-plane/dashboard/data/client.ts'
import { milliseconds } from '#control-plane/dashboard/data/format.ts'
import { Button } from './button.tsx'

/** A placeholder for content that is loading. */
export function Skeleton({ height = '1rem', width = '100%' }: { readonly height?: string; readonly width?: string }) {
  return <div className="skeleton" style={{ height, width }} />
}

export function SkeletonRows({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className="card-body grid" aria-hidden="true">
      {Array.from({ length: rows }, (_, at) => at).map((at) => (
        <Skeleton key={at} height="1.25rem" width={at % 3 === 2 ? '70%' : '100%'} />
      ))}
    </div>
  )
}

/** A placeholder for a row of figures. */
export function SkeletonFigures({ figures = 4 }: { readonly figures?: number }) {
  return (
    <div className="stats" aria-hidden="true">
      {Array.from({ length: figures }, (_, at) => at).map((at) => (
        <div key={at} className="stat">
          <Skeleton height="0.75rem" width="60%" />
          <Skeleton height="1.25rem" width="45%" />
          <Skeleton height="0.75rem" width="80%" />
        </div>
      ))}
    </div>
  )
}

/** A placeholder for a card: its heading, and a chart or rows. */
export function SkeletonCard({ height }: { readonly height?: string }) {
  return (
    <div className="card" aria-hidden="true">
      <div className="card-head">
        <Skeleton height="1rem" width="9rem" />
      </div>
      {height === undefined ? (
        <SkeletonRows />
      ) : (
        <div className="card-body">
          <Skeleton height={height} />
        </div>
      )}
    </div>
  )
}

/** A placeholder for a screen of unknown shape: a list. */
export function SkeletonScreen() {
  return (
    <div className="grid" aria-busy="true">
      <SkeletonCard />
    </div>
  )
}

type EmptyProps = { readonly title: string; readonly children: ReactNode }

/** True below data that was read in part. */
const PartsMissing = createContext(false)

/** An empty list, with the way to its first line. A list that was read in part does not count as empty. */
export function Empty({ title, children }: EmptyProps) {
  if (use(PartsMissing)) return <div className="empty">Not known. A part of this screen could not be read.</div>
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** A placeholder for figures whose calls are not summed yet. */
export function NotSummed() {
  return (
    <Empty title="Not known yet">
      <p>The calls of this time are being summed.</p>
    </Empty>
  )
}

export function Notice({ tone, children }: { readonly tone?: 'bad' | 'warn' | 'good'; readonly children: ReactNode }) {
  return (
    <div className="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  )
}

/** A refusal in words for a reader, in place of the market's sentence for programs. */
function sentenceOf(error: Error): string {
  if (!(error instanceof MarketError)) return 'This screen could not be drawn.'
  if (error.code === 'authentication_required') return 'You are signed out. Sign in again.'
  if (error.code === 'wrong_key_type') return 'The key of this session is for another side of the market.'
  if (error.code === 'rate_limited') {
    const { retryAfterMs } = error
    return `Too many requests at once. Try again ${retryAfterMs === undefined ? 'in a minute' : `in ${milliseconds(retryAfterMs)}`}.`
  }
  return error.message
}

/** A sign-in that keeps this screen and its typed text. */
export function SignInBeside() {
  return (
    <a className="button" href="/sign-in" target="_blank" rel="noopener">
      Sign in in another tab
    </a>
  )
}

export function ErrorNotice({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  const id = error instanceof MarketError ? error.requestId : undefined
  return (
    <Notice tone="bad">
      <span>{sentenceOf(error)}</span>
      {error instanceof MarketError && error.code === 'authentication_required' ? <SignInBeside /> : null}
      {id === undefined ? null : <code className="small muted">{id}</code>}
      {onRetry === undefined ? null : <Button onClick={onRetry}>Retry</Button>}
    </Notice>
  )
}

/** A malformed id names nothing, too. */
const MISSING: ReadonlySet<string> = new Set(['not_found', 'invalid_request'])

/** True for a record that does not exist, or that belongs to another user. */
export function isMissing(error: Error | null): boolean {
  return error instanceof MarketError && MISSING.has(error.code)
}

type LoadedProps<Data extends object> = {
  readonly query: UseQueryResult<Data, Error>
  /** The placeholder until the data is there. */
  readonly waiting?: ReactNode
  /** The content of a screen whose record does not exist, or belongs to another user. */
  readonly missing?: ReactNode
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a screen. The last data stays, marked, while the market does not answer. */
export function Loaded<Data extends object>({ query, waiting, missing, children }: LoadedProps<Data>) {
  const { data, error, failureCount, failureReason, isPlaceholderData, refetch } = query
  if (data === undefined) {
    if (missing !== undefined && isMissing(error)) return missing
    const shownError = error ?? (failureCount > 1 ? failureReason : null)
    const room = waiting ?? <SkeletonCard />
    if (shownError === null) return <div aria-busy="true">{room}</div>
    // The page keeps asking, so the placeholder stays until the data arrives.
    return (
      <div className="grid">
        <ErrorNotice error={shownError} onRetry={() => void refetch()} />
        {error === null ? <div aria-busy="true">{room}</div> : null}
      </div>
    )
  }
  // A first failure often passes in a moment. The second one is shown, and the page keeps asking.
  const stale = error ?? (failureCount > 1 ? failureReason : null)
  const failed = failureOf(data)
  const shownError = stale ?? failed
  return (
    <>
      {shownError === undefined ? null : (
        <Notice tone="warn">
          <span>
            {sentenceOf(shownError)}{' '}
            {stale === null
              ? 'A part of this screen is missing.'
              : 'This screen shows the last data that could be read.'}
          </span>
          <Button onClick={() => void refetch()}>Retry</Button>
        </Notice>
      )}
      <PartsMissing value={failed !== undefined}>
        <div className={isPlaceholderData ? 'grid stale' : 'grid'} aria-busy={isPlaceholderData}>
          {children(data)}
        </div>
      </PartsMissing>
    </>
  )
}
