import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const WalletsSchema = z.object({ buyer: z.object({ address: z.string() }) })

/** The wallet of the seeded buyer: the home's own, which has money on the development chain. */
export function readBuyerWallet(home: string): string {
  return WalletsSchema.parse(JSON.parse(readFileSync(join(home, 'wallets.json'), 'utf8'))).buyer.address.toLowerCase()
}
