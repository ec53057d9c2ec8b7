import { sql } from 'kysely'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import type { AccountId, CredentialId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer, nullable, timestamp } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** Plans a token for a credential that is an account. An existing token stays. */
export async function planToken(trx: Trx, credentialId: CredentialId, at: number): Promise<void> {
  await sql`insert into credential_token (credential_id, next_at) values (${credentialId}, ${new Date(at)})
    on conflict do nothing`.execute(trx)
}

/** An account whose token is due. `sealed` is the account, as JSON; the caller parses it with its schema. */
const DUE_TOKEN_ROW = {
  credentialId: OFFER_TABLES.credential.id,
  baseUrl: OFFER_TABLES.credential.base_url,
  sealed: OFFER_TABLES.credential.sealed,
  expiresAt: nullable(timestamp()),
  failures: integer(),
}
export type DueToken = RowOf<typeof DUE_TOKEN_ROW>

/** The accounts to choose from: all, or one seller's or buyer's account with this fingerprint. */
export type TokenOwner = { readonly tenant: AccountId; readonly fingerprint: string }

type Claim = { readonly at: number; readonly until: number; readonly limit: number; readonly owner?: TokenOwner }

/**
 * Takes accounts in use whose tokens are due, the longest overdue first, and postpones them until `until`, so that no
 * other process makes a token for one of them meanwhile.
 */
export async function claimDueTokens(db: Database, { at, until, limit, owner }: Claim): Promise<DueToken[]> {
  const isDue = sql`t.next_at <= ${new Date(at)}`
  // An owner who lists an account has just seen a token made for it, so no pause after failures applies.
  const isChosen =
    owner === undefined
      ? isDue
      : sql`(${isDue} or t.failures > 0) and c.tenant = ${owner.tenant} and c.fingerprint = ${owner.fingerprint}`
  const rows = await readRows(
    db,
    DUE_TOKEN_ROW,
    sql`with due as (
      select t.credential_id from credential_token t join credential c on c.id = t.credential_id
      where ${isChosen}
        and (exists (select from offer o where o.credential_id = c.id and o.status <> 'inactive')
          or exists (select from own_provider o where o.credential_id = c.id))
      order by t.next_at limit ${limit} for update of t skip locked)
    update credential_token t set next_at = ${new Date(until)}
    from due join credential c on c.id = due.credential_id
    where t.credential_id = due.credential_id
    returning c.id as "credentialId", c.base_url as "baseUrl", c.sealed, t.expires_at as "expiresAt", t.failures`,
  )
  return rows
}

/** A new token. Times are Unix milliseconds. */
export type NewToken = { readonly sealed: SealedCredential; readonly expiresAt: number; readonly nextAt: number }

export async function storeToken(trx: Trx, id: CredentialId, token: NewToken): Promise<void> {
  await trx
    .updateTable('credential_token')
    .set({
      sealed: JSON.stringify(token.sealed),
      expires_at: new Date(token.expiresAt),
      next_at: new Date(token.nextAt),
      failures: 0,
      failure: null,
    })
    .where('credential_id', '=', id)
    .execute()
}

/** Records that no token could be made. The former token stays until it expires. */
export async function noteTokenFailure(
  trx: Trx,
  id: CredentialId,
  { failure, nextAt }: { readonly failure: string; readonly nextAt: number },
): Promise<void> {
  await trx
    .updateTable('credential_token')
    .set((row) => ({ failures: row('failures', '+', 1), failure, next_at: new Date(nextAt) }))
    .where('credential_id', '=', id)
    .execute()
}

/** Makes the tokens of offers due at once, unless that happened since `since`. Returns their number. */
export async function bringTokensForward(
  db: Database,
  offers: readonly string[],
  { at, since }: { readonly at: number; readonly since: number },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`update credential_token t
    set next_at = least(t.next_at, ${new Date(at)}), forwarded_at = ${new Date(at)}
    where t.sealed is not null and (t.forwarded_at is null or t.forwarded_at < ${new Date(since)})
      and t.credential_id in (select credential_id from offer where id = any(${[...offers]}::text[]))`.execute(db)
  return Number(numAffectedRows)
}

/** The active offers and the buyers' accounts whose calls use a credential. */
export async function listTokenUses(
  trx: Trx,
  id: CredentialId,
): Promise<{
  readonly offers: readonly { readonly id: string; readonly model: string }[]
  readonly accounts: readonly AccountId[]
}> {
  const offers = await trx
    .selectFrom('offer')
    .select(['id', 'model'])
    .where('credential_id', '=', id)
    .where('status', '=', 'active')
    .execute()
  const own = await trx
    .selectFrom('own_provider')
    .select('account')
    .where('credential_id', '=', id)
    .distinct()
    .execute()
  return { offers, accounts: own.map(({ account }) => account) }
}
