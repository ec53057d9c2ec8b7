import { z } from 'zod'
import type { Database } from '#control-plane/db/database.ts'
import type { Holder, MaskedKey } from '#control-plane/db/support.ts'
import {
  findHolder,
  findSupportCall,
  listHoldersById,
  listHoldersByWallet,
  listKeysNamed,
  listOfId,
  listOfLedger,
  listOfTransaction,
} from '#control-plane/db/support.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { shownPartOf } from '#shared/api-key.ts'
import { isId, parseAnswerId } from '#shared/ids.ts'
import { formatDollars } from '#shared/money.ts'
import { oneLine } from '#shared/texts.ts'

/** Most lines of an answer. A longer text finds fewer. */
const MAX_SUBJECTS = 20
/** The shortest beginning of a wallet or key that is looked for. */
const MIN_BEGINNING = 6

/** A record that an operator's search found, and the account of the record. */
export const SubjectSchema = z
  .object({
    kind: z.enum(['account', 'key', 'call', 'hold', 'wallet_payment', 'deposit', 'payout', 'ledger']),
    id: z.string(),
    /** The account whose support screen shows it. Null for a key of an operator. */
    account: z.string().nullable(),
    about: z.string(),
  })
  .meta({ id: 'SupportSubject', description: 'A record that a search of support found.' })
export type Subject = z.infer<typeof SubjectSchema>

/**
 * Finds what a text names: an account, user, workspace or organisation by its id, a wallet or a key by its beginning, a
 * call by its request id, a transaction of the chain by its hash, a deposit or payout by its id, a ledger key. For a
 * whole key, only the prefix that lists show is compared.
 */
export const findSubjects = defineOperation({
  name: 'support.find',
  summary: 'Find an account, wallet, key, call or transaction',
  about:
    'By an id, the hash of a transaction, the key of a ledger transaction, or the first six characters or more of a wallet or an API key.',
  example: { text: '0x119a' },
  access: 'operator',
  input: z.strictObject({ text: oneLine(200).trim().min(3) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(SubjectSchema).readonly(),
  run: async (ctx, _actor, { text }): Promise<readonly Subject[]> => (await find(ctx, text)).slice(0, MAX_SUBJECTS),
})

async function find(ctx: Pick<Ctx, 'db' | 'desk'>, text: string): Promise<readonly Subject[]> {
  const { db } = ctx
  if (/^0x[0-9a-f]*$/i.test(text)) return findByHex(db, text.toLowerCase())
  const rid = parseAnswerId(text)
  if (rid !== undefined) {
    const call = await findSupportCall(db, rid)
    if (call !== undefined) {
      const about = `${call.model}, ${call.outcome}, $${formatDollars(call.charge)}`
      return [{ kind: 'call', id: rid, account: call.account, about }]
    }
    const hold = await findHold(ctx, rid)
    if (hold !== undefined) return [hold]
    return [...(await listOfId(db, rid)), ...(await listOfLedger(db, rid))]
  }
  const shown = shownPartOf(text)
  if (shown !== undefined)
    return text.length < MIN_BEGINNING ? [] : (await listKeysNamed(db, shown, MAX_SUBJECTS)).map(ofKey)
  if (isId('key', text)) return (await listKeysNamed(db, text, MAX_SUBJECTS)).map(ofKey)
  if (isId('acc', text)) {
    const holder = await findHolder(db, text)
    return holder === undefined ? [] : [ofHolder(holder)]
  }
  if (isId('usr', text) || isId('wsp', text) || isId('org', text)) {
    return (await listHoldersById(db, text, MAX_SUBJECTS)).map(ofHolder)
  }
  if (isId('dep', text) || isId('pay', text)) return await listOfId(db, text)
  return await listOfLedger(db, text)
}

/** The characters of a wallet, and of the hash of a transaction. */
const [WALLET_CHARS, HASH_CHARS] = [42, 66]

async function findByHex(db: Database, hex: string): Promise<readonly Subject[]> {
  if (hex.length === HASH_CHARS) return await listOfTransaction(db, hex, MAX_SUBJECTS)
  if (hex.length < MIN_BEGINNING || hex.length > WALLET_CHARS) return []
  return (await listHoldersByWallet(db, hex, MAX_SUBJECTS)).map(ofHolder)
}

/** Most holds that are looked through for a call that is not booked. */
const MAX_HOLDS = 500

async function findHold({ desk }: Pick<Ctx, 'desk'>, rid: string): Promise<Subject | undefined> {
  if (!(await desk.isHeld(rid))) return undefined
  const hold = (await desk.listHolds({ account: undefined, limit: MAX_HOLDS })).find((open) => open.rid === rid)
  return hold && { kind: 'hold', id: rid, account: hold.account, about: `$${formatDollars(hold.amountMicro)} held` }
}

const ofKey = ({ id, type, keyPrefix, label, account }: MaskedKey): Subject => ({
  kind: 'key',
  id,
  account,
  about: `${type} key ${keyPrefix}…, ${label}`,
})

const ofHolder = ({ buyerAccount, wallet, name, user }: Holder): Subject => ({
  kind: 'account',
  id: buyerAccount,
  account: buyerAccount,
  about: name ?? wallet ?? user ?? buyerAccount,
})
