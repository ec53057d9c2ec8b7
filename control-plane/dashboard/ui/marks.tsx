import type { ReactNode } from 'react'
import { createContext, use } from 'react'
import type { Micro } from '#control-plane/dashboard/data/format.ts'
import {
  ago,
  exactMoney,
  fixedMoney,
  instant,
  money,
  short,
  toMicro,
  UNKNOWN,
  words,
} from '#control-plane/dashboard/data/format.ts'
import { useExplorerUrl } from '#control-plane/dashboard/data/session.tsx'
import { useSettings } from '#control-plane/dashboard/data/settings.tsx'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  )
}

/** The number of decimals that all amounts of a column have. Undefined outside of a column. */
export const MoneyDigits = createContext<number | undefined>(undefined)

/** An amount; the exact one on hover. */
export function Money({ micro }: { readonly micro: Micro | null | undefined }) {
  const digits = use(MoneyDigits)
  if (micro === null || micro === undefined) return <Unknown />
  return <span title={exactMoney(micro)}>{digits === undefined ? money(micro) : fixedMoney(micro, digits)}</span>
}

const CENT_MICRO = 10_000n

/** An amount outside of a table, to the cent unless it is less than a cent. The exact amount shows on hover. */
export function Amount({ micro }: { readonly micro: Micro | null | undefined }) {
  const isCents = micro !== null && micro !== undefined && toMicro(micro) >= CENT_MICRO
  return (
    <MoneyDigits value={isCents ? 2 : undefined}>
      <Money micro={micro} />
    </MoneyDigits>
  )
}

export function Unknown() {
  return (
    <span className="muted" title="Not enough data">
      {UNKNOWN}
    </span>
  )
}

type TimeProps = {
  readonly at: number | null | undefined
  /** True below a head that names UTC. */
  readonly isInColumn?: boolean
}

/** An instant in the reader's zone. */
export function Time({ at, isInColumn = false }: TimeProps) {
  const { zone } = useSettings()
  if (at === null || at === undefined) return <Unknown />
  return (
    <time className="nowrap" dateTime={new Date(at).toISOString()}>
      {instant(at, zone, isInColumn)}
    </time>
  )
}

/** The age of an event, such as "3 min ago". The instant shows on hover. */
export function Ago({ at, now = Date.now() }: { readonly at: number | null | undefined; readonly now?: number }) {
  const { zone } = useSettings()
  if (at === null || at === undefined) return <Unknown />
  return (
    <time className="nowrap" dateTime={new Date(at).toISOString()} title={instant(at, zone)}>
      {ago(at, now)}
    </time>
  )
}

/** A transaction on the chain by the beginning of its hash, with a link where the chain has an explorer. */
export function Transaction({ hash }: { readonly hash: string | null }) {
  const explorer = useExplorerUrl()
  if (hash === null) return <span className="muted">none yet</span>
  const name = <code className="nowrap" title={hash}>{`${hash.slice(0, 10)}…`}</code>
  return explorer === null ? name : <Outside url={`${explorer}/tx/${hash}`}>{name}</Outside>
}

/** An address on the chain, short unless it is `isWhole`, with a link where the chain has an explorer. */
export function Address({ address, isWhole = false }: { readonly address: string; readonly isWhole?: boolean }) {
  const explorer = useExplorerUrl()
  const name = (
    <code className={isWhole ? undefined : 'nowrap'} title={address}>
      {isWhole ? address : short(address)}
    </code>
  )
  return explorer === null ? name : <Outside url={`${explorer}/address/${address}`}>{name}</Outside>
}

function Outside({ url, children }: { readonly url: string; readonly children: ReactNode }) {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

/** A badge of a state, with its reason. */
export function State({ tone, name, reason }: { tone: Tone; name: string; reason: string | null }) {
  return (
    <>
      <Badge tone={tone}>{name}</Badge>
      {reason === null ? null : <span className="sub">{words(reason)}</span>}
    </>
  )
}

export function Tags({ names }: { readonly names: readonly string[] }) {
  return (
    <span className="tags">
      {names.map((name) => (
        <span key={name} className="tag">
          {name}
        </span>
      ))}
    </span>
  )
}
