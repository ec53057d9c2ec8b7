import { jobEndId } from '#shared/contract/usage-event.ts'
import { keptBps, microUsd, splitCharge } from '#shared/money.ts'
import { eventText } from './usage-events.ts'

type JobFields = {
  readonly rid: string
  readonly account: string
  readonly sellerAccount: string
  readonly quote: number
  /** The id of the offer that accepted the job. */
  readonly offer?: string
  /** The provider's own id for the job. */
  readonly providerJob?: string
  readonly startedAt?: number
}

/** The submit event of a long job, as text. */
export function submitText(job: JobFields, deadlineAt = Date.now() + 60_000): string {
  const { rid, account, sellerAccount, quote, offer, providerJob = 'p-1' } = job
  const started = job.startedAt === undefined ? {} : { startedAt: job.startedAt }
  const input = { rid, account, sellerAccount, charge: quote, hold: quote, ...started }
  // The price is one micro-USD per millisecond, so that a quote equals a time.
  const terms = { unitPrices: { milliseconds: '1000000' }, bound: { milliseconds: quote } }
  const place = { wire: 'video', endpoint: 'video', keptBps: 10_000, ...(offer === undefined ? {} : { offer }) }
  const changes = { kind: 'submit', job: { deadlineAt, providerJob, ...terms }, ...place }
  return eventText(input, { ...changes, sellerNetMicro: '0', feeMicro: '0' })
}

/** The end event of that job with its final charge in micro-USD, as text. */
export function endText(job: JobFields, charge: number, changes: Record<string, unknown> = {}): string {
  const { sellerNet, fee } = splitCharge(microUsd(charge), keptBps(500))
  const { account, sellerAccount, quote } = job
  const split = { sellerNetMicro: sellerNet.toString(), feeMicro: fee.toString(), endpoint: 'video' }
  const input = { rid: jobEndId(job.rid), account, sellerAccount, charge, hold: quote }
  return eventText(input, { kind: 'end', ...split, ...changes })
}
