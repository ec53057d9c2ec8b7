import { z } from 'zod'
import type { Settled } from '#data-plane/payment.ts'
import type { Rail } from '#data-plane/rails/rail.ts'
import { AppError } from '#shared/errors.ts'
import { min, parseMicroUsd } from '#shared/money.ts'
import { Receipt, VOUCHER_RAIL } from './voucher.ts'

const Proof = z.object({
  wallet: z.string().min(1).max(100),
  nonce: z.string().min(1).max(100),
  ceilingMicro: z.string().transform(parseMicroUsd),
})
type Proof = z.infer<typeof Proof>

const Record = z.object({ nonce: z.string() })

/**
 * A way to pay that only tests have. A wallet sends a voucher with a ceiling in a header. An outside office claims the
 * voucher once and pays out once. No account is needed.
 */
export function voucherRail(officeUrl: string): Rail<Proof> {
  const ask = (path: string, body: object) =>
    fetch(officeUrl + path, { method: 'POST', body: JSON.stringify(body) }).catch(() => undefined)
  return {
    name: VOUCHER_RAIL,
    recognize({ headers }) {
      const header = headers['x-voucher']
      if (typeof header !== 'string') return undefined
      const read = Proof.safeParse(parse(header))
      if (!read.success) throw new AppError('invalid_request', { message: 'The voucher cannot be read.' })
      return read.data
    },
    identify: ({ wallet }) =>
      Promise.resolve({
        account: null,
        keyId: null,
        wallet,
        floorPercents: [],
        providersBlocked: [],
        allowsUntrusted: undefined,
        modelsAllowed: null,
        caps: { dailyMicro: null, monthlyMicro: null },
        ratePerMinute: null,
      }),
    challenge: ({ wantMicro }, { path }) => ({
      accepts: [{ scheme: VOUCHER_RAIL, amount: wantMicro.toString(), path }],
      headers: { 'x-voucher-price': wantMicro.toString() },
    }),
    async reserve({ wallet }, { nonce, ceilingMicro }, { rid, wantMicro, minMicro }) {
      if (ceilingMicro < minMicro) throw new AppError('insufficient_balance')
      const answer = await ask('/claim', { nonce })
      if (answer?.status === 409) throw new AppError('payment_required', { message: 'The voucher was used before.' })
      if (answer?.status !== 200 || wallet === null) throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
      const grantedMicro = min(ceilingMicro, wantMicro)
      return { account: null, keyId: null, wallet, rid, rail: VOUCHER_RAIL, record: { nonce }, grantedMicro }
    },
    async settle({ record }, charge) {
      const { nonce } = Record.parse(record)
      const answer = await ask('/settle', { nonce, amountMicro: charge.toString() })
      if (answer?.status !== 200) return PENDING
      const { receipt } = Receipt.parse(await answer.json())
      const headers = { 'payment-receipt': receipt }
      return { state: 'final', booking: 'by-event', headers, members: { voucher: { receipt } } }
    },
    async release({ record }) {
      await ask('/void', Record.parse(record))
    },
  }
}

const PENDING: Settled = { state: 'pending', booking: 'later', members: { voucher: { receipt: null } } }

function parse(header: string): unknown {
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  } catch {
    return undefined
  }
}
