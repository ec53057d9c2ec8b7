import { z } from 'zod'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import type { Side } from '#control-plane/cli/config.ts'
import { readSecretVariable, SIDES } from '#control-plane/cli/config.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, text } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { textOption } from '#control-plane/cli/read-options.ts'
import { forgetKeys, keepKey, readSecretIn } from '#control-plane/cli/secret-files.ts'
import type { Secret } from '#shared/secret.ts'

const Challenge = z.object({ message: z.string().max(4_000) })
const IssuedKey = z.looseObject({ id: z.string(), key: z.string(), key_prefix: z.string(), wallet: z.string() })

/** Signs in with a wallet for a key, or keeps a given key, for later commands. */
export const login: Action = async (cli, { options }) => {
  const { connection } = cli
  const side = SIDES.find((known) => known === (textOption(options, 'side') ?? 'buyer')) ?? 'buyer'
  const given = secretOption(options, 'key')
  const origin = connection.url
  if (given !== undefined) {
    const path = keepKey(connection.folder, { origin, side, key: given.reveal() })
    return { json: { market: origin, side, kept_in: path }, blocks: [facts({ market: origin, side, 'kept in': path })] }
  }
  if (side === 'operator')
    throw usageError('Create an operator key on the machine of the market, then pass it with --key-env or --key-from.')
  const wallet = await openWallet(cli, options)
  const query = { address: wallet.address }
  const challenge = readAnswer(Challenge, await connection.call('GET', `/v1/${side}/auth/challenge`, { query }))
  checkChallenge(challenge.message, { origin, address: wallet.address })
  const signature = await wallet.signMessage({ message: challenge.message })
  const body = { message: challenge.message, signature, label: textOption(options, 'label') ?? 'command line' }
  const issued = readAnswer(IssuedKey, await connection.call('POST', `/v1/${side}/auth/keys`, { body }))
  const path = keepKey(connection.folder, { origin, side, key: issued.key })
  const { key: _secret, ...shown } = issued
  const keyFacts = { market: origin, side, wallet: issued.wallet, key: `${issued.key_prefix}…`, 'kept in': path }
  return { json: { ...shown, market: origin, kept_in: path }, blocks: [facts(keyFacts)] }
}

/** The secret named by `--<name>-env` or `--<name>-from`. */
function secretOption(options: CommandOptions, name: 'key' | 'privateKey'): Secret | undefined {
  const variable = textOption(options, `${name}Env`)
  const file = textOption(options, `${name}From`)
  if (variable !== undefined && file !== undefined) throw usageError('Pass a variable or a file, not both.')
  if (file !== undefined) return readSecretIn(file)
  if (variable === undefined) return undefined
  const found = readSecretVariable(variable)
  if (found === undefined) throw usageError(`The variable ${variable} is not set.`)
  return found
}

/** The wallet of a private key in a variable or a file, or one that a person types. */
export async function openWallet({ terminal }: Pick<Cli, 'terminal'>, options: CommandOptions) {
  const named = secretOption(options, 'privateKey')
  if (named === undefined && !terminal.canAsk) {
    throw usageError('Pass the wallet with --private-key-env or --private-key-from.')
  }
  const secret = named ?? (await terminal.askSecret('Private key of the wallet (hidden): '))
  const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(secret.reveal().trim())?.[1]
  if (digits === undefined) throw usageError('A private key of a wallet must have 64 hexadecimal digits.')
  const { privateKeyToAccount } = await import('viem/accounts')
  return privateKeyToAccount(`0x${digits}`)
}

/** Refuses a challenge that names another site or another wallet, before the wallet signs it. */
function checkChallenge(message: string, { origin, address }: { origin: string; address: string }): void {
  const [first = '', second = ''] = message.split('\n')
  const domain = first.replace(/ wants you to sign in with your Ethereum account:$/, '')
  const uri = /^URI: (.+)$/m.exec(message)?.[1] ?? ''
  const hosts = [new URL(origin).host]
  const sameHost = hosts.includes(domain) && URL.canParse(uri) && hosts.includes(new URL(uri).host)
  if (!sameHost || second.toLowerCase() !== address.toLowerCase()) {
    throw usageError(`The challenge is for ${domain}, not for ${hosts[0]}: nothing was signed.`)
  }
}

/** Deletes the saved keys of a market. The keys stay valid until they are revoked. */
export const logout: Action = async ({ connection }) => {
  const wasKept = forgetKeys(connection.folder, connection.url)
  const message = wasKept
    ? 'Removed from this machine. The key stays valid until you revoke it.'
    : 'No keys were saved.'
  return { json: { market: connection.url, forgotten: wasKept }, blocks: [text(message)] }
}

/** Shows the market and the keys that the next command would use. Of keys it shows the first characters only. */
export const whoami: Action = async ({ connection }) => {
  const shownKey = (side: Side) => {
    const key = connection.key(side)
    return key === undefined ? null : `${key.slice(0, 12)}…`
  }
  const keys = { buyer: shownKey('buyer'), seller: shownKey('seller'), operator: shownKey('operator') }
  const { url, foundIn } = connection
  return { json: { url, found_in: foundIn, keys }, blocks: [facts({ market: url, 'found in': foundIn, ...keys })] }
}
