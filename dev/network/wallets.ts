import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { WalletFunding } from '#dev/chain/fund-wallets.ts'

/**
 * USDC and ETH of the wallets on a new chain, in micro-USD and wei. The treasury gets its money when the market runs,
 * with an entry in the books.
 */
const FIRST_MONEY = {
  buyer: { usdcMicro: 1_000_000_000n, wei: 100_000_000_000_000_000n },
  seller: { usdcMicro: 0n, wei: 100_000_000_000_000_000n },
  facilitator: { usdcMicro: 0n, wei: 1_000_000_000_000_000_000_000n },
  treasury: { usdcMicro: 0n, wei: 0n },
} as const

const hex = (digits: number) => z.templateLiteral(['0x', z.string().regex(new RegExp(`^[0-9a-fA-F]{${digits}}$`))])
const WalletSchema = z.strictObject({ privateKey: hex(64), address: hex(40) })
const WalletsSchema = z.strictObject({
  buyer: WalletSchema,
  seller: WalletSchema,
  /** Sends settlements to the chain and pays their gas. */
  facilitator: WalletSchema,
  /** Receives payments. */
  treasury: WalletSchema,
})

type Wallet = z.infer<typeof WalletSchema>
/** The wallets of one home. Their keys exist nowhere else. */
export type Wallets = z.infer<typeof WalletsSchema>

/** Reads the wallets of a home. The first start creates them from random bytes, in a file of mode 0600. */
export async function keepWallets(file: string): Promise<{ readonly wallets: Wallets; readonly areNew: boolean }> {
  const areNew = !existsSync(file)
  if (areNew) {
    const wallets = {
      buyer: await makeWallet(),
      seller: await makeWallet(),
      facilitator: await makeWallet(),
      treasury: await makeWallet(),
    }
    writeFileSync(file, `${JSON.stringify(wallets, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  }
  return { wallets: WalletsSchema.parse(JSON.parse(readFileSync(file, 'utf8'))), areNew }
}

/**
 * Gives a home a new treasury, for a restarted chain. The old treasury's deposits, payouts and transactions belong to
 * the lost chain, and the books keep them apart by its address. The former wallets stay beside the file.
 */
export async function renewTreasury(file: string, wallets: Wallets): Promise<Wallets> {
  const next = { ...wallets, treasury: await makeWallet() }
  copyFileSync(file, `${file}.former`)
  writeFileSync(`${file}.new`, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return next
}

/** The first money of the wallets. */
export function firstMoney({ buyer, seller, facilitator, treasury }: Wallets): readonly WalletFunding[] {
  return [
    { address: buyer.address, ...FIRST_MONEY.buyer },
    { address: seller.address, ...FIRST_MONEY.seller },
    { address: facilitator.address, ...FIRST_MONEY.facilitator },
    { address: treasury.address, ...FIRST_MONEY.treasury },
  ]
}

/** The file has the addresses beside the keys, so that later starts need not load the large library. */
async function makeWallet(): Promise<Wallet> {
  const { privateKeyToAddress } = await import('viem/accounts')
  const privateKey = `0x${randomBytes(32).toString('hex')}` as const
  return { privateKey, address: privateKeyToAddress(privateKey) }
}
