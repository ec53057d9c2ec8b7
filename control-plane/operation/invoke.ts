import type { z } from 'zod'
import type { Access, Operation, RunCtx } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { Actor } from './actor.ts'
import { ADMIT } from './admit.ts'
import { openAudit } from './audit.ts'
import type { CountOptions } from './call-limits.ts'
import { countCall, countStranger, countWallet } from './call-limits.ts'
import type { Ctx } from './ctx.ts'
import { orUnavailable } from './or-unavailable.ts'
import { parseInput } from './parse-input.ts'
import { runOnce } from './run-once.ts'

export type InvokeOptions = CountOptions & { readonly idempotencyKey?: string | undefined }

/**
 * Runs an operation for an actor in this order: access, rate limit, validation, idempotency, the run with its audit
 * rows. Nothing else calls `run`. Throws AppErrors, and any error of the run.
 */
export async function invoke<A extends Access, Input extends z.ZodType, Output>(
  ctx: Ctx,
  actor: Actor,
  operation: Operation<A, Input, Output>,
  ...[rawInput, options = {}]: [rawInput: unknown, options?: InvokeOptions]
): Promise<Output> {
  const admitted = ADMIT[operation.access](actor)
  const workspace = 'workspace' in actor ? actor.workspace : undefined
  if (workspace?.isReadOnly && operation.limit !== 'read') throw new AppError('forbidden')
  const work = async () => {
    const { limit, countBy, isCountedByRun } = operation
    const counting = { ctx, kind: limit, options }
    if (countBy === undefined && !isCountedByRun) await countCall(counting, actor)
    const input = parseInput(operation.input, rawInput)
    if (countBy !== undefined) await countStranger(counting, countBy(input))
    const run = async () => {
      const { close, ...changes } = openAudit(ctx, actor, operation.name)
      const runCtx: RunCtx = {
        ...ctx,
        ...changes,
        count: (wallet) => (wallet === undefined ? countStranger(counting) : countWallet(counting, wallet)),
      }
      const output = await operation.run(runCtx, admitted, input)
      if (operation.limit === 'read' || operation.isAudited === false) return output
      if (operation.idempotency !== 'none' && operation.endAfter) return operation.endAfter(output, close)
      await close()
      return output
    }
    if (operation.idempotency === 'none') return run()
    return runOnce(ctx, actor, { operation, rawInput, key: options.idempotencyKey, run })
  }
  return ctx.telemetry.operation(operation.name, () => orUnavailable(work))
}
