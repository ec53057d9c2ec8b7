import type { CreditHold } from '#data-plane/payment.ts'
import type { Clock } from '#shared/clock.ts'
import type { BatchPlace, ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import { decodeAnswers, MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'
import type { RegisterOperation } from '#shared/contract/money-scripts/register.ts'
import { encodeRegister } from '#shared/contract/money-scripts/register.ts'
import type { CaptureOperation, SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import type { MoneyScript } from '#shared/contract/money-scripts.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { jobOfEnd, readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { KeyId } from '#shared/ids.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd, ZERO } from '#shared/money.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'
import { groupByBucket } from './bucket-groups.ts'
import type { Membership } from './gate-member.ts'
import type { MoneyConnection } from './money-connection.ts'

type OpenCall = { readonly hold: CreditHold; readonly deadline: number }

/** The holds of this process whose end Redis has not seen. The process brings them into a new epoch. */
export type OpenCalls = {
  add(hold: CreditHold, ttlMs: number): void
  remove(rid: string): void
  operations(node: string): RegisterOperation[]
  size(): number
}

export function createOpenCalls(clock: Clock): OpenCalls {
  const calls = createTurnoverMap<string, OpenCall>()
  return {
    add(hold, ttlMs) {
      calls.set(hold.rid, { hold, deadline: clock.monotonic() + ttlMs })
    },
    remove(rid) {
      calls.delete(rid)
    },
    operations(node) {
      const now = clock.monotonic()
      return [...calls.values()].map(({ hold, deadline }) => ({ ...hold, node, ttlMs: deadline - now }))
    },
    size: calls.size,
  }
}

/** Makes the capture from a usage event of the credit rail. Undefined for any other text. */
export function captureOf(event: string, node: string): CaptureOperation | undefined {
  const read = readUsageEvent(event)
  const isEnd = read?.kind === 'end'
  const call = read === undefined ? undefined : parseRequestId(isEnd ? (jobOfEnd(read.rid) ?? '') : read.rid)
  if (read === undefined || call === undefined) return undefined
  const { account, chargeMicro, endedAt } = read
  if (account === null || read.rail !== CREDIT_RAIL) return undefined
  const keyId = readKeyId(read.keyId)
  return {
    kind: 'capture',
    rid: read.rid,
    account,
    keyId,
    node,
    // The cost of a job left the balance at its submit, so its end takes nothing more.
    usedMicro: isEnd ? ZERO : chargeMicro,
    event,
    capturedAt: endedAt,
    ...(read.budgets && { budgets: read.budgets }),
  }
}

function readKeyId(text: string | null): KeyId | null {
  return text !== null && isId('key', text) ? text : null
}

/** Runs operations in batches, one after the other. Throws when the epoch refused one. */
export type Registrar = {
  calls(operations: readonly RegisterOperation[]): Promise<void>
  settle(operations: readonly SettleOperation[]): Promise<UnheldCaptures>
}

/** Captures without an open hold in the gate, by request. */
export type UnheldCaptures = {
  /** Captures for which nothing was held in this epoch. */
  readonly late: ReadonlySet<string>
  /** Calls that were captured before with another amount, which stays. */
  readonly standing: ReadonlyMap<string, MicroUsd>
}

type Ports = {
  readonly connection: Pick<MoneyConnection, 'run'>
  readonly membership: Membership
  readonly buckets: number
  readonly log: Logger
}

export function createRegistrar({ connection, membership, buckets, log }: Ports): Registrar {
  const { epoch, scripts } = membership

  async function runAll<Operation extends { readonly rid: string; readonly account: string }>(
    script: MoneyScript,
    operations: readonly Operation[],
    encode: (place: BatchPlace, operations: readonly Operation[]) => ScriptBatch,
  ): Promise<UnheldCaptures> {
    const late = new Set<string>()
    const standing = new Map<string, MicroUsd>()
    const entries = operations.map((operation) => ({ operation }))
    for (const [bucket, group] of groupByBucket(entries, buckets)) {
      for (let start = 0; start < group.length; start += MAX_BATCH) {
        const batch = group.slice(start, start + MAX_BATCH).map((entry) => entry.operation)
        const reply = await connection.run(script, encode({ bucket, epoch }, batch))
        for (const [index, answer] of decodeAnswers(reply, batch.length).entries()) {
          if (answer.kind === 'stale') throw new AppError('service_unavailable')
          const rid = batch[index]?.rid ?? ''
          if (answer.kind === 'done') {
            if (answer.isLate) late.add(rid)
            continue
          }
          if (answer.kind === 'conflict') standing.set(rid, parseMicroUsd(answer.usedMicro))
          log.error({ rid, answer: answer.kind }, 'a call could not be registered')
        }
      }
    }
    return { late, standing }
  }

  return {
    calls: async (operations) => {
      await runAll(scripts.register, operations, encodeRegister)
    },
    settle: (operations) => runAll(scripts.settle, operations, encodeSettle),
  }
}
