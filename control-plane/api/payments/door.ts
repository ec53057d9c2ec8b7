import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { DATA_PLANE, noteCaller } from '#control-plane/api/strangers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { claimPayment } from '#control-plane/services/payments/claim-payment.ts'
import { isContract } from '#control-plane/services/payments/is-contract.ts'
import { withPayments } from '#control-plane/services/payments/payment-ctx.ts'
import { readPaymentTerms } from '#control-plane/services/payments/payment-terms.ts'
import { keepClaims } from '#control-plane/services/payments/rebuild-claim.ts'
import { releasePayment, settlePayment } from '#control-plane/services/payments/settle-payment.ts'
import { listSwitchedOff, refuseSwitchedOff } from '#control-plane/services/payments/switched-rails.ts'
import type { ClaimAnswer, PaymentTerms, SettleAnswer, WalletAnswer } from '#shared/contract/chain-payments.ts'
import {
  ClaimAskSchema,
  HeldClaimsSchema,
  INTERNAL_TOKEN_HEADER,
  PAYMENTS_PATH,
  ReleaseAskSchema,
  SettleAskSchema,
  WalletAskSchema,
} from '#shared/contract/chain-payments.ts'
import { AppError } from '#shared/errors.ts'
import { internalToken, isInternalToken } from '#shared/internal-token.ts'

/** The door for data planes to payments by wallets. Only data planes have its token, and none passes it on. */
export function mountPayments(server: FastifyInstance, plane: Ctx): void {
  const ctx = withPayments(plane)
  const secret = internalToken(plane.settings.keyPepper)

  function enter(request: FastifyRequest): NonNullable<typeof ctx> {
    const header = request.headers[INTERNAL_TOKEN_HEADER]
    if (ctx === undefined || typeof header !== 'string' || !isInternalToken(secret, header)) {
      throw new AppError('not_found')
    }
    noteCaller(plane, request, DATA_PLANE)
    return ctx
  }

  server.get(`${PAYMENTS_PATH}/terms`, async (request): Promise<PaymentTerms> => {
    const [terms, switchedOff] = await Promise.all([readPaymentTerms(enter(request)), listSwitchedOff(plane)])
    return { ...terms, switchedOff }
  })
  server.post(`${PAYMENTS_PATH}/wallet`, async (request): Promise<WalletAnswer> => {
    const { wallet } = read(WalletAskSchema, request.body)
    return { isContract: await isContract(enter(request), wallet) }
  })
  server.post(`${PAYMENTS_PATH}/claim`, async (request): Promise<ClaimAnswer | Written<UsedAnswer>> => {
    const entered = enter(request)
    const ask = read(ClaimAskSchema, request.body)
    const answer = (await refuseSwitchedOff(plane, ask.rail)) ?? (await claimPayment(entered, ask))
    return answer.state === 'used' ? { ...answer, amountMicro: answer.amountMicro.toString() } : answer
  })
  server.post(`${PAYMENTS_PATH}/claims-again`, async (request): Promise<object> => {
    await keepClaims(enter(request), read(HeldClaimsSchema, request.body).claims)
    return {}
  })
  server.post(`${PAYMENTS_PATH}/settle`, async (request): Promise<Written<SettleAnswer>> => {
    const answer = await settlePayment(enter(request), read(SettleAskSchema, request.body))
    return { ...answer, amountMicro: answer.amountMicro.toString() }
  })
  server.post(`${PAYMENTS_PATH}/release`, async (request): Promise<object> => {
    await releasePayment(enter(request), read(ReleaseAskSchema, request.body).rid)
    return {}
  })
}

type UsedAnswer = Extract<ClaimAnswer, { state: 'used' }>

/** An answer in JSON: amounts are digits. */
type Written<Answer> = Omit<Answer, 'amountMicro'> & { readonly amountMicro: string }

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new AppError('invalid_request', { message: z.prettifyError(parsed.error).slice(0, 500) })
  return parsed.data
}
