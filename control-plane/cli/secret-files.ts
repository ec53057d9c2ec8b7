import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import { Secret } from '#shared/secret.ts'
import type { Side } from './config.ts'
import { CommandFailure, usageError } from './failure.ts'

/** Permission bits of all users but the owner. */
const OTHERS = 0o077
const MAX_BYTES = 100_000

/** Reads a file that only its owner may read. Throws a usage failure for a wider mode or a missing file. */
function readSecretFile(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw usageError(`There is no file ${path}.`)
  if (!found.isFile() || found.size > MAX_BYTES) throw usageError(`${path} is not a file with a secret.`)
  if ((found.mode & OTHERS) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0')
    throw usageError(`${path} can be read by others (mode ${mode}): chmod 600 it first.`)
  }
  return readFileSync(path, 'utf8')
}

/** The one secret in such a file. */
export function readSecretIn(path: string): Secret {
  const text = readSecretFile(path).trim()
  if (text === '') throw usageError(`${path} is empty.`)
  return new Secret(text)
}

const StoredKeys = z.object({
  buyer: z.string().optional(),
  seller: z.string().optional(),
  operator: z.string().optional(),
})
const Credentials = z.object({
  /** The market to use when none is named. */
  current: z.string().nullable(),
  /** Keys by the origin of their market. */
  markets: z.record(z.string(), StoredKeys),
})
export type Credentials = z.infer<typeof Credentials>

const FILE = 'credentials.json'
const NOBODY: Credentials = { current: null, markets: {} }

/** Reads what `market login` has kept. Empty before the first login. */
export function readCredentials(folder: string): Credentials {
  const path = join(folder, FILE)
  if (!existsSync(path)) return NOBODY
  const parsed = Credentials.safeParse(parseJson(readSecretFile(path)))
  if (!parsed.success) throw new CommandFailure('usage', `${path} is damaged: remove it and log in again.`)
  return parsed.data
}

/**
 * Keeps a key for a market and makes that market the current one. From its first moment on, only the owner can read the
 * file.
 */
export function keepKey(folder: string, { origin, side, key }: { origin: string; side: Side; key: string }): string {
  const before = readCredentials(folder)
  const keys = { ...before.markets[origin], [side]: key }
  return writeCredentials(folder, { current: origin, markets: { ...before.markets, [origin]: keys } })
}

/** Forgets the keys of a market. Answers true when there were any. */
export function forgetKeys(folder: string, origin: string): boolean {
  const { current, markets } = readCredentials(folder)
  if (markets[origin] === undefined) return false
  const rest = Object.fromEntries(Object.entries(markets).filter(([known]) => known !== origin))
  writeCredentials(folder, { current: current === origin ? null : current, markets: rest })
  return true
}

function writeCredentials(folder: string, credentials: Credentials): string {
  const path = join(folder, FILE)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.draft`
  writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
  return path
}

const Sandbox = z.object({
  base_url: z.string(),
  buyer_key: z.string(),
  seller_key: z.string(),
  management_key: z.string(),
})

/** Reads the address and keys of a development market on this machine. Undefined when there is none. */
export function readSandbox(path: string): { url: string; keys: Readonly<Record<Side, string>> } | undefined {
  if (!existsSync(path)) return undefined
  const parsed = Sandbox.safeParse(parseJson(readSecretFile(path)))
  if (!parsed.success) return undefined
  const { base_url: url, buyer_key: buyer, seller_key: seller, management_key: operator } = parsed.data
  return { url, keys: { buyer, seller, operator } }
}
