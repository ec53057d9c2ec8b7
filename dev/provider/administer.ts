import { z } from 'zod'
import { behaviourOf, SANDBOX_LAB } from './behaviours.ts'
import type { BillBook } from './cost-reports.ts'
import type { RequestLog } from './request-log.ts'
import type { TokenDoor } from './token-door.ts'
import { setTokenDoor } from './token-door.ts'

/** The parts of a sample provider that its admin port changes and shows. */
export type Administered = {
  readonly log: RequestLog
  /** The node behind chain reads, once its address is set. */
  readonly chain: { url: string | undefined }
  /** Models that follow a behaviour for a time. */
  readonly acting: Map<string, { readonly behaviour: string; left: number }>
  readonly tokens: TokenDoor
  /** The bills in its cost reports. */
  readonly bills: BillBook
}

const BehaveSchema = z.object({
  model: z.string(),
  /** A name of the table, with or without its prefix. Null ends the behaviour. */
  behaviour: z.string().nullable(),
  /** The number of calls. Absent means without end. */
  times: z.number().int().positive().optional(),
})

type AdminAnswer = readonly [status: number, body: unknown]

/** Responds to a call of the admin port. */
export function administer(provider: Administered, path: string, body: unknown): AdminAnswer {
  switch (path) {
    case '/__sandbox/requests':
      return [200, { requests: provider.log.list() }]
    case '/__sandbox/count':
      return [200, { count: provider.log.count() }]
    case '/__sandbox/reset':
      provider.log.reset()
      provider.acting.clear()
      return [200, { ok: true }]
    case '/__sandbox/tokens':
      return setTokenDoor(provider.tokens, body)
    case '/__sandbox/bills':
      return provider.bills.put(body)
    case '/__sandbox/chain':
      return connectChain(provider, body)
    case '/__sandbox/behave':
      return behave(provider, body)
    default:
      return [404, { error: 'no such admin path' }]
  }
}

const ChainSchema = z.object({ url: z.url() })

function connectChain({ chain }: Administered, body: unknown): AdminAnswer {
  const parsed = ChainSchema.safeParse(body)
  if (!parsed.success) return [400, { error: 'expected { url }' }]
  chain.url = parsed.data.url
  return [200, { ok: true }]
}

function behave(provider: Administered, body: unknown): AdminAnswer {
  const parsed = BehaveSchema.safeParse(body)
  if (!parsed.success || (parsed.data.behaviour !== null && !behaviourOf(parsed.data.behaviour))) {
    return [400, { error: 'expected { model, behaviour, times? } with a known behaviour' }]
  }
  const { model, behaviour, times } = parsed.data
  if (behaviour === null) provider.acting.delete(model)
  else provider.acting.set(model, { behaviour: prefixed(behaviour), left: times ?? Number.POSITIVE_INFINITY })
  return [200, { ok: true }]
}

function prefixed(behaviour: string): string {
  return behaviour.startsWith(`${SANDBOX_LAB}/`) ? behaviour : `${SANDBOX_LAB}/${behaviour}`
}
