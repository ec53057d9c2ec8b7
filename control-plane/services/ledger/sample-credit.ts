import { z } from 'zod'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { Grant } from './ledger.ts'
import { GrantSchema, grantCredit } from './ledger.ts'

const SAMPLE_USD = 5

/**
 * Puts sample credit on the caller's account in a development market, once. Throws `not_found` in every other market.
 */
export const takeSampleCredit = defineOperation({
  name: 'sample-credit.take',
  summary: `Take ${SAMPLE_USD} USD of development credit`,
  about: 'Works once for each account, and only on a development market.',
  example: {},
  access: 'buyer-account',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'none',
  output: GrantSchema,
  run: (ctx, { account }): Promise<Grant> => {
    if (ctx.settings.sampleBuyer === null) throw new AppError('not_found')
    const grant = { account, amountUsd: SAMPLE_USD, ticket: `sample:${account}`, note: 'development credit' }
    return invoke(ctx, machineOperator('development market'), grantCredit, grant)
  },
})
