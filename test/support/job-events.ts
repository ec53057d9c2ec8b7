import { jobEndId } from '#shared/contract/usage-event.ts'
import { keptBps, microUsd, splitCharge } from '#shared/money.ts'
import { eventText } from './usage-events.ts'

type JobWish = {
  readonly rid: string
  readonly account: string
  readonly sellerAccount: string
  readonly quote: number
}

/** The submit of a long job, as its bytes. */
export function submitText({ rid, account, sellerAccount, quote }: JobWish, deadlineAt = Date.now() + 60_000): string {
  const wish = { rid, account, sellerAccount, charge: quote, hold: quote }
  const changes = { kind: 'submit', job: { deadlineAt, providerJob: 'p-1' }, endpoint: 'video' }
  return eventText(wish, { ...changes, sellerNetMicro: '0', feeMicro: '0' })
}

/** The end of that job with what it costs in the end, as its bytes. */
export function endText(job: JobWish, charge: number, changes: Record<string, unknown> = {}): string {
  const { sellerNet, fee } = splitCharge(microUsd(charge), keptBps(500))
  const { account, sellerAccount, quote } = job
  const split = { sellerNetMicro: sellerNet.toString(), feeMicro: fee.toString(), endpoint: 'video' }
  const wish = { rid: jobEndId(job.rid), account, sellerAccount, charge, hold: quote }
  return eventText(wish, { kind: 'end', ...split, ...changes })
}
