import type { Redis } from 'ioredis'
import { z } from 'zod'
import { openQueue } from '#control-plane/ports/queue/open-queue.ts'
import { SECOND } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import type { Ids } from '#shared/ids.ts'
import type { KeyRing } from '#shared/seal.ts'
import { openCredential, sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import type { Mail, MailParts } from './mail-sender.ts'

/** Attempts of one mail. The pauses between them double, from 2 seconds to 32. */
export const MAX_MAIL_ATTEMPTS = 6
const FIRST_PAUSE_MS = 2 * SECOND
/** The tenant and the host that a sealed mail is bound to. */
const BOUND_TO = { tenant: 'mail', host: 'mail-queue' } as const

const MailSchema = z.object({
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  unsubscribeUrl: z.string().optional(),
})
const Job = z.object({ v: z.literal(1), until: z.number(), sealed: SealedCredentialSchema })

type Log = { debug(facts: object, text: string): void }
type Sealing = { readonly keyRing: KeyRing; readonly ids: Ids }

/**
 * The queue of mails. Redis holds them sealed, because a mail may have a link that signs in. `close` closes the queue
 * and leaves the connection open.
 */
export function createRedisMailQueue(
  redis: Redis,
  { keyRing, ids }: Sealing,
  log: Log,
): { readonly post: MailParts['post']; close(): Promise<void> } {
  const queue = openQueue(redis, QUEUES.mail, {
    defaultJobOptions: {
      attempts: MAX_MAIL_ATTEMPTS,
      backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
      removeOnComplete: true,
      removeOnFail: true,
    },
  })
  queue.on('error', (error) => log.debug({ err: error, queue: QUEUES.mail }, 'the queue is out of reach'))
  return {
    async post(mail, until) {
      const binding = { ...BOUND_TO, id: ids.make('crd'), purpose: 'mail' } as const
      const sealed = sealCredential(keyRing, binding, new Secret(JSON.stringify(mail)))
      await queue.add('send', { v: 1, until, sealed } satisfies z.input<typeof Job>)
    },
    close: () => queue.close().catch(() => undefined),
  }
}

/** Opens the mail of a job. Undefined for a mail whose time is over. Throws an Error for a job that is no mail. */
export function openQueuedMail(keyRing: KeyRing, data: unknown, now: number): Mail | undefined {
  const { until, sealed } = Job.parse(data)
  if (now > until) return undefined
  if (sealed.purpose !== 'mail') throw new Error('a job of mails has another secret')
  return MailSchema.parse(JSON.parse(openCredential(keyRing, sealed).reveal()))
}
