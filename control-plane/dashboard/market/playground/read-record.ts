import { at } from '#control-plane/dashboard/data/answer-of.ts'
import type { PayingCall } from '#control-plane/dashboard/data/paid-call.ts'

/**
 * A call is on record soon after its end, and a stopped call once its provider has ended. The reads go on for a minute.
 */
const MAX_LOOKS = 14
const FIRST_LOOK_MS = 500
const LONGEST_LOOK_MS = 8_000

/** An offer that could have served a call. Amounts are micro-USD. */
export type RoutedOffer = { readonly offer: string; readonly provider: string; readonly estimateMicro: number }

/** The record that the market keeps of a call. */
export type CallRecord = {
  readonly costMicro: number
  readonly listMicro: number | undefined
  readonly provider: string | null
  readonly attempts: readonly { readonly provider: string; readonly status: number }[]
  /** Undefined for a call without a route of its own, such as the submit of a job. */
  readonly offers: readonly RoutedOffer[] | undefined
  readonly excluded: number
  readonly savingMicro: number | undefined
}

/** Reads the record of a call that has ended. Undefined while there is none. */
export async function readRecord(paid: PayingCall, requestId: string): Promise<CallRecord | undefined> {
  for (let look = 0; look < MAX_LOOKS; look++) {
    if (look > 0) await pause(Math.min(FIRST_LOOK_MS * 1.5 ** look, LONGEST_LOOK_MS))
    try {
      const record = recordOf(await (await paid(`/v1/requests/${requestId}`, { method: 'GET' })).json())
      if (record !== undefined) return record
    } catch {
      // The next read may find it.
    }
  }
  return undefined
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function recordOf(body: unknown): CallRecord | undefined {
  const [cost, status] = [at(body, 'buyer_cost_micro'), at(body, 'settlement_status')]
  if (typeof cost !== 'number' || status === 'pending') return undefined
  const [list, provider, excluded] = [
    at(body, 'list_cost_micro'),
    at(body, 'provider'),
    at(body, 'routing', 'excluded'),
  ]
  const saving = at(body, 'routing', 'affinity', 'saving_micro')
  return {
    costMicro: cost,
    listMicro: typeof list === 'number' ? list : undefined,
    provider: typeof provider === 'string' ? provider : null,
    attempts: listOf(at(body, 'attempts')).map((attempt) => ({
      provider: String(at(attempt, 'provider')),
      status: Number(at(attempt, 'status')),
    })),
    offers: at(body, 'routing') == null ? undefined : listOf(at(body, 'routing', 'offers')).map(offerOf),
    excluded: listOf(excluded).length,
    savingMicro: typeof saving === 'number' ? saving : undefined,
  }
}

/** An offer as explanations and records write it. */
export function offerOf(offer: unknown): RoutedOffer {
  return {
    offer: String(at(offer, 'offer')),
    provider: String(at(offer, 'provider')),
    estimateMicro: Number(at(offer, 'estimate_micro')),
  }
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
