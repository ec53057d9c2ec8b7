import { z } from 'zod'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { JobAnswer, ProbedJob } from '#control-plane/ports/provider/job-probe.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { bookParkedEnds, createJobPolls } from '#control-plane/services/jobs/poll-jobs.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import type { AccountId } from '#shared/ids.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import { ids } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'

const ProviderAnswer = z.object({ id: z.string() })

export const SILENT: JobAnswer = { kind: 'silent', status: null, retryAfterMs: undefined }
export const UNKNOWN: JobAnswer = { kind: 'unknown' }

/** A provider's answer with a state. A finished job has used six seconds and made a video. */
export function told(state: ProviderJob['state'], milliseconds = 6_000): JobAnswer {
  const artifacts = [{ url: 'https://files.example/1.mp4', contentType: 'video/mp4', access: 'lasting' as const }]
  return { kind: 'reported', job: { id: 'p-1', state, milliseconds, artifacts } }
}

type Turn = {
  /** Records every poll. */
  readonly asked?: ProbedJob[] | undefined
  readonly jobBook?: JobBook
  /** A gate that is closed for this worker only. */
  readonly isGateClosed?: boolean
}

/** Long jobs of a market, beginning with their events. */
export type JobDesk = Awaited<ReturnType<typeof openJobDesk>>

export async function openJobDesk({ plane, provider }: TestMarket) {
  const seller = await newAccount(plane.db, 'seller_available')
  return {
    seller,
    /** A job of a new buyer, for a submit. */
    async job(quote: number, balance = 1_000_000) {
      const account = await newAccount(plane.db, 'buyer_credit', balance)
      await drainAccountChanges(plane)
      return { rid: ids.requestId(), account, sellerAccount: seller, quote }
    },
    /** A job of four seconds at the sample provider after its first poll. The next poll is the last one. */
    async atProvider(model: string, key = 'sk-good-jobs-of-tests'): Promise<string> {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const place = `${provider.url}/videos`
      const body = JSON.stringify({ model, prompt: 'a door', seconds: '4' })
      const { id } = ProviderAnswer.parse(await (await fetch(place, { method: 'POST', headers, body })).json())
      await (await fetch(`${place}/${id}`, { headers })).arrayBuffer()
      return id
    },
    post: (...events: string[]) => postBatch(plane, { events, source: 'test' }),
    escrowOf: (account: AccountId) => balanceOf(plane.db, `acc_escrow_${account.slice(4)}`),
    /** Runs a turn of a worker over the due jobs. Each provider returns the same given answer, or is really polled. */
    async turn(
      answer?: JobAnswer,
      { asked = [], jobBook = plane.jobBook, isGateClosed = false }: Turn = {},
    ): Promise<number> {
      const askJob = async (job: ProbedJob) => {
        asked.push(job)
        return answer ?? plane.askJob(job)
      }
      const gate = isGateClosed ? { ...plane.gate, isOpen: async () => false } : plane.gate
      const polls = createJobPolls({ ...plane, askJob, jobBook, gate }, ids.ulid())
      await polls.turn()
      await polls.settle()
      return polls.ended() + (await bookParkedEnds(plane))
    },
    async breaches(): Promise<string[]> {
      const { findings } = await plane.checkMoney()
      return findings.filter(({ state }) => state === 'breach').map(({ id, detail }) => `${id} ${detail}`)
    },
  }
}
