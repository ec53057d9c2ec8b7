import { openQueuedMail } from '#control-plane/ports/mail/redis-mail-queue.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { consume } from './consume.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

const CONCURRENCY = 2

/**
 * Sends queued mails. A mail that the server cannot take now is tried again after growing pauses; one that it refuses,
 * or whose time is over, is dropped. No line of the log contains an address or a text.
 */
export function startSendMail(plane: WorkerPlane): RunningWorker {
  const { mail: parts } = plane
  if (parts === null) return { name: QUEUES.mail, stop: () => Promise.resolve() }
  return consume(plane, {
    queue: QUEUES.mail,
    concurrency: CONCURRENCY,
    process: async ({ id, data }) => {
      const mail = openQueuedMail(plane.settings.keyRing, data, plane.clock.now())
      if (mail === undefined) return
      const answer = await parts.send(mail)
      if (answer.kind === 'unreachable') throw new Error(`the mail server did not take the mail (${answer.reason})`)
      if (answer.kind === 'refused') plane.log.warn({ job: id, reason: answer.reason }, 'a mail was refused')
    },
  })
}
