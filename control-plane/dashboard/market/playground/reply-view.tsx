import { lazy, Suspense, useState } from 'react'
import { MarketError } from '#control-plane/dashboard/data/client.ts'
import { exactMoney, milliseconds } from '#control-plane/dashboard/data/format.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { Badge } from '#control-plane/dashboard/ui/marks.tsx'
import { Notice } from '#control-plane/dashboard/ui/states.tsx'
import type { ShownColumn } from './columns.ts'
import { MediaView } from './media-view.tsx'
import type { ModelReply } from './reply.ts'
import { isOpen } from './reply.ts'
import { WhyHere } from './why-here.tsx'

/** The reader of Markdown is large, and is loaded with the first answer. */
const Formatted = lazy(() => import('./formatted-text.tsx').then(({ FormattedText: part }) => ({ default: part })))

type Props = {
  readonly column: ShownColumn
  /** Undefined where the column was not asked. */
  readonly reply: ModelReply | undefined
  readonly paid: PayingCall
  /** Undefined for an answer that later questions follow. */
  readonly onAskAgain: (() => void) | undefined
}

/** The answer of a column, with its cost and its seller. */
export function ReplyView({ column, reply, paid, onAskAgain }: Props) {
  const name = column.market?.name ?? column.model
  if (reply === undefined) {
    return (
      <section className="play-reply" aria-label={`Answer of ${name}`}>
        <p className="muted small">{name} was not asked this.</p>
      </section>
    )
  }
  const isComing = isOpen(reply)
  return (
    <section className="play-reply" aria-label={`Answer of ${name}`} aria-busy={isComing}>
      <div className="play-reply-head">
        <strong className="small">{name}</strong>
        <State reply={reply} />
      </div>
      {reply.thoughts === '' ? null : (
        <details className="play-thoughts">
          <summary className="small">Reasoning</summary>
          <p>{reply.thoughts}</p>
        </details>
      )}
      {reply.text === '' ? null : (
        <div className="play-text">
          <Suspense fallback={<p className="play-plain">{reply.text}</p>}>
            <Formatted text={reply.text} />
          </Suspense>
        </div>
      )}
      {reply.media.map((media) => (
        <MediaView key={media.url} media={media} label={`${name}: ${media.name}`} paid={paid} />
      ))}
      {reply.error === undefined ? null : <Failed error={reply.error} />}
      {isComing ? null : <Foot reply={reply} paid={paid} onAskAgain={onAskAgain} name={name} />}
    </section>
  )
}

function State({ reply: { state, progress, isCut } }: { readonly reply: ModelReply }) {
  return (
    <span role="status">
      {state === 'waiting' ? <Badge tone="info">Waiting</Badge> : null}
      {state === 'answering' ? <Badge tone="info">{progress ?? 'Answering'}</Badge> : null}
      {state === 'stopped' ? <Badge>Stopped</Badge> : null}
      {state === 'failed' ? <Badge tone="bad">Failed</Badge> : null}
      {state === 'done' ? <Badge tone={isCut ? 'warn' : 'good'}>{isCut ? 'Cut at the limit' : 'Done'}</Badge> : null}
    </span>
  )
}

const MONEY_CODES: ReadonlySet<string> = new Set([
  'insufficient_balance',
  'insufficient_allowance',
  'insufficient_credit',
])

function Failed({ error }: { readonly error: Error }) {
  const code = error instanceof MarketError ? error.code : undefined
  return (
    <Notice tone="bad">
      <span>{error.message}</span>
      {code !== undefined && MONEY_CODES.has(code) ? (
        <a className="button" href="/buyer/credit" target="_blank" rel="noopener">
          Add credit
        </a>
      ) : null}
      {code === 'budget_reached' ? (
        <a className="button" href="/buyer/organizations" target="_blank" rel="noopener">
          See budgets
        </a>
      ) : null}
      {code === 'authentication_required' ? (
        <a className="button" href="/sign-in" target="_blank" rel="noopener">
          Sign in in another tab
        </a>
      ) : null}
    </Notice>
  )
}

type FootProps = Pick<Props, 'paid' | 'onAskAgain'> & { readonly reply: ModelReply; readonly name: string }

function Foot({ reply, paid, onAskAgain, name }: FootProps) {
  const [isShown, setShown] = useState(false)
  const { firstMs, tookMs, costMicro, provider, requestId } = reply
  const facts = [
    costMicro === undefined ? costWords(reply) : `Cost ${exactMoney(costMicro)}`,
    provider,
    firstMs === undefined ? undefined : `first token ${milliseconds(firstMs)}`,
    tookMs === undefined ? undefined : `took ${milliseconds(tookMs)}`,
  ].filter((fact) => fact !== undefined)
  return (
    <>
      <p className="muted small">{facts.join(' · ')}</p>
      <div className="actions">
        {requestId === undefined ? null : (
          <Button
            kind="quiet"
            aria-expanded={isShown}
            aria-label={`Why here: ${name}`}
            onClick={() => setShown(!isShown)}
          >
            Why here
          </Button>
        )}
        {onAskAgain === undefined ? null : (
          <Button kind="quiet" aria-label={`Ask again: ${name}`} onClick={onAskAgain}>
            Ask again
          </Button>
        )}
      </div>
      {isShown && requestId !== undefined ? <WhyHere paid={paid} requestId={requestId} /> : null}
    </>
  )
}

/** A stopped answer is charged for the part that its provider made. The market knows that part within half a minute. */
function costWords({ state, requestId }: ModelReply): string | undefined {
  return state === 'stopped' && requestId !== undefined ? 'Cost follows' : undefined
}
