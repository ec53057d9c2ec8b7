import type { Ids } from '#shared/ids.ts'
import type { ControlConfig } from './config.ts'
import type { MailParts } from './ports/mail/mail-sender.ts'
import { createRedisMailQueue } from './ports/mail/redis-mail-queue.ts'
import { createSmtpMailSender } from './ports/mail/smtp-mail-sender.ts'

type QueueParts = Parameters<typeof createRedisMailQueue>
/** The parts of mail with their end. */
export type OpenMail = { readonly parts: MailParts; close(): Promise<void> }

/** Opens the sender and the queue of mails. Undefined without a mail server. */
export function openMail(
  { mail, keyRing }: Pick<ControlConfig, 'mail' | 'keyRing'>,
  redis: QueueParts[0],
  { ids, log }: { readonly ids: Ids; readonly log: QueueParts[2] },
): OpenMail | undefined {
  if (mail === undefined) return undefined
  const sender = createSmtpMailSender(mail.url, mail.from)
  const queue = createRedisMailQueue(redis, { keyRing, ids }, log)
  return {
    parts: { send: sender.send, post: queue.post },
    async close() {
      await queue.close()
      sender.close()
    },
  }
}
