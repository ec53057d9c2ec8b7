import { createHash } from 'node:crypto'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

export const VOUCHER_RAIL = 'voucher'

export const Receipt = z.object({ receipt: z.string() })

/** Makes the header of a voucher. */
export function voucherHeader(nonce: string, ceilingMicro: number): { readonly 'x-voucher': string } {
  const voucher = { wallet: '0xvoucher', nonce, ceilingMicro: String(ceilingMicro) }
  return { 'x-voucher': Buffer.from(JSON.stringify(voucher)).toString('base64') }
}

const Asked = z.object({ nonce: z.string(), amountMicro: z.string().optional() })

/** Pays vouchers. Each voucher is claimed once and paid once, for any number of requests. */
export type VoucherOffice = {
  readonly url: string
  /** Payments by voucher. 0 for a voucher that was given back. */
  readonly paid: ReadonlyMap<string, bigint>
  readonly claimed: ReadonlySet<string>
  /** Number of requests for a payment. */
  settleCalls(): number
  /** Closes the office. While it is closed, nothing is paid out, but claims go on. */
  setShut(isShut: boolean): void
  close(): Promise<void>
}

export async function openVoucherOffice(): Promise<VoucherOffice> {
  const paid = new Map<string, bigint>()
  const claimed = new Set<string>()
  let isShut = false
  let settles = 0

  function answer(path: string, { nonce, amountMicro }: z.infer<typeof Asked>): [number, object] {
    if (path === '/claim') {
      if (claimed.has(nonce)) return [409, {}]
      claimed.add(nonce)
      return [200, {}]
    }
    if (path === '/settle') settles += 1
    if (isShut) return [503, {}]
    const amount = path === '/settle' ? BigInt(amountMicro ?? '0') : 0n
    const before = paid.get(nonce)
    if (before !== undefined && before !== amount) return [409, {}]
    paid.set(nonce, amount)
    return [200, { receipt: createHash('sha256').update(`${nonce} ${amount}`).digest('hex') }]
  }

  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const asked = Asked.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')))
      const [status, body] = answer(request.url ?? '', asked)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    paid,
    claimed,
    settleCalls: () => settles,
    setShut: (shut) => {
      isShut = shut
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
