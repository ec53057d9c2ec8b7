import { createHmac } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { RepeatProof } from '#data-plane/payment.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { RequestId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import { openText, sealText } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'

/** Larger answers are not kept. A repeat then gets the state of the payment only. In bytes. */
const MAX_KEPT_BYTES = 262_144
/** Bytes that hold the length of the head. */
const LENGTH_BYTES = 4

const HeadSchema = z.object({ status: z.number().int(), headers: z.record(z.string(), z.string()) })
type Head = z.infer<typeof HeadSchema>
export type PaidAnswer = Head & { readonly body: string | readonly Buffer[] }

/** The facts that only the payer can present again. `content` is the digest of a streamed body. */
type Shown = { readonly proof: RepeatProof; readonly content: string | undefined }

/** Whole answers that wallets paid for. The loss of one costs its buyer only the repeat. */
export type PaidAnswers = {
  keep(rid: RequestId, answer: PaidAnswer, proof: Shown): void
  /** Undefined for an answer that was not kept, or is another payer's, and while Redis is out of reach. */
  find(rid: RequestId, proof: Shown): Promise<PaidAnswer | undefined>
}

/** Keeps answers sealed: opening one takes the secret of all data planes and the facts that the payer presents. */
export function createPaidAnswers(redis: Redis, pepper: Secret, log: Logger): PaidAnswers {
  const secret = pepper.derive('answers that wallets paid for')
  const keyOf = ({ proof, content = '' }: Shown) =>
    createHmac('sha256', secret.reveal()).update(`${proof.digest} ${content}`).digest()
  return {
    keep(rid, answer, proof) {
      const { body } = answer
      const bytes = typeof body === 'string' ? body.length : body.reduce((sum, { length }) => sum + length, 0)
      if (bytes > MAX_KEPT_BYTES) return
      redis
        .set(cacheKeys.paidAnswer(rid), sealText(keyOf(proof), rid, encode(answer)), 'PX', proof.proof.keptMs)
        .catch((error: unknown) => log.debug({ err: error, rid }, 'a paid answer was not kept'))
    },
    async find(rid, proof) {
      const sealed = await redis.get(cacheKeys.paidAnswer(rid)).catch(() => null)
      const plain = sealed === null ? undefined : openText(keyOf(proof), rid, sealed)
      return plain && decode(plain)
    },
  }
}

function encode({ status, headers, body }: PaidAnswer): Buffer {
  const head = Buffer.from(JSON.stringify({ status, headers } satisfies Head), 'utf8')
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(head.length)
  return Buffer.concat([length, head, ...(typeof body === 'string' ? [Buffer.from(body, 'utf8')] : body)])
}

function decode(plain: Buffer): PaidAnswer {
  const end = LENGTH_BYTES + plain.readUInt32BE(0)
  const head = HeadSchema.parse(JSON.parse(plain.subarray(LENGTH_BYTES, end).toString('utf8')))
  return { ...head, body: [plain.subarray(end)] }
}
