import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { createContext, use } from 'react'
import { failureOf, MarketError } from '#control-plane/dashboard/data/client.ts'
import { milliseconds } from '#control-plane/dashboard/data/format.ts'
import { Button } from './button.tsx'

/** Room for what is on its way. */
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

/** Room for a row of figures. */
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

/** Room for a card: its heading, and a chart or rows. */
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

/** Room for a screen of which no more is known: a list. */
export function SkeletonScreen() {
  return (
    <div className="grid" aria-busy="true">
      <SkeletonCard />
    </div>
  )
}

type EmptyProps = { readonly title: string; readonly children: ReactNode }

/** True below what was read in part. */
const PartsMissing = createContext(false)

/** A list without lines, which says how lines come into it. Nobody knows that of a list that may not have been read. */
export function Empty({ title, children }: EmptyProps) {
  if (use(PartsMissing)) return <div className="empty">Not known: this may not have been read.</div>
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

/** Stands where figures will be once the calls behind them are summed. */
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
    return `Too many questions at once. The next one is answered ${retryAfterMs === undefined ? 'in a minute' : `in ${milliseconds(retryAfterMs)}`}.`
  }
  return error.message
}

/** The way in that leaves this screen, and what was typed into it, as it is. */
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
      {onRetry === undefined ? null : <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  )
}

/** An id of another shape is that of nothing, too. */
const MISSING: ReadonlySet<string> = new Set(['not_found', 'invalid_request'])

/** True where a thing does not exist, or is somebody else's. */
export function isMissing(error: Error | null): boolean {
  return error instanceof MarketError && MISSING.has(error.code)
}

type LoadedProps<Data extends object> = {
  readonly query: UseQueryResult<Data, Error>
  /** The placeholder until the data is there. */
  readonly waiting?: ReactNode
  /** The content of a screen of one thing that does not exist, or that belongs to somebody else. */
  readonly missing?: ReactNode
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a screen. The last data stays, marked, while the market does not answer. */
export function Loaded<Data extends object>({ query, waiting, missing, children }: LoadedProps<Data>) {
  const { data, error, failureCount, failureReason, isPlaceholderData, refetch } = query
  if (data === undefined) {
    if (missing !== undefined && isMissing(error)) return missing
    const told = error ?? (failureCount > 1 ? failureReason : null)
    const room = waiting ?? <SkeletonCard />
    if (told === null) return <div aria-busy="true">{room}</div>
    // The market is asked on, so the room stays as long as it may be filled.
    return (
      <div className="grid">
        <ErrorNotice error={told} onRetry={() => void refetch()} />
        {error === null ? <div aria-busy="true">{room}</div> : null}
      </div>
    )
  }
  // A first failure is often a moment's. The second one is told, while the market is asked on.
  const stale = error ?? (failureCount > 1 ? failureReason : null)
  const failed = failureOf(data)
  const shownError = stale ?? failed
  return (
    <>
      {shownError === undefined ? null : (
        <Notice tone="warn">
          <span>
            {sentenceOf(shownError)}{' '}
            {stale === null ? 'A part of this screen is missing.' : 'What you see is what was read last.'}
          </span>
          <Button onClick={() => void refetch()}>Retry</Button>
        </Notice>
      )}
      <PartsMissing value={failed !== undefined}>
        <div className={isPlaceholderData ? 'grid stale' : 'grid'}>{children(data)}</div>
      </PartsMissing>
    </>
  )
}
