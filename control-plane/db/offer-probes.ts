import { sql } from 'kysely'
import type { AccountId, CredentialId, OfferId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { ApiFormat } from './tables/offers.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** A saved key at an address, and the time of its next probe there. */
export type ProbePlan = { readonly credentialId: CredentialId; readonly baseUrl: string; readonly nextAt: number }

/** Plans the first probe of a key at an address. An existing plan stays. */
export async function upsertProbe(trx: Trx, { credentialId, baseUrl, nextAt }: ProbePlan): Promise<void> {
  await sql`insert into offer_probe (credential_id, base_url, next_at)
    values (${credentialId}, ${baseUrl}, ${new Date(nextAt)}) on conflict do nothing`.execute(trx)
}

/** A probe that is due. `sealed` is JSON; the caller parses it with its schema. */
const DUE_PROBE_ROW = {
  credentialId: OFFER_TABLES.offer_probe.credential_id,
  baseUrl: OFFER_TABLES.offer_probe.base_url,
  failures: OFFER_TABLES.offer_probe.failures,
  sealed: OFFER_TABLES.credential.sealed,
}
export type DueProbe = RowOf<typeof DUE_PROBE_ROW>

/** Probes that are due, the longest overdue first. */
export async function listDueProbes(db: Database, at: number, limit: number): Promise<DueProbe[]> {
  const rows = await readRows(
    db,
    DUE_PROBE_ROW,
    sql`select p.credential_id as "credentialId", p.base_url as "baseUrl", p.failures,
      c.sealed
    from offer_probe p join credential c on c.id = p.credential_id
    where p.next_at <= ${new Date(at)} order by p.next_at limit ${limit}`,
  )
  return rows
}

/** Stores the result of a probe and the time of the next one. */
export async function updateProbe(
  db: Database,
  plan: ProbePlan & { readonly failures: number; readonly at: number },
): Promise<void> {
  await db
    .updateTable('offer_probe')
    .set({ next_at: new Date(plan.nextAt), failures: plan.failures, last_at: new Date(plan.at) })
    .where('credential_id', '=', plan.credentialId)
    .where('base_url', '=', plan.baseUrl)
    .execute()
}

/** Ends the probes of a key at an address where no offer uses it. A new offer plans them again. */
export async function deleteProbe(db: Database, place: Omit<ProbePlan, 'nextAt'>): Promise<void> {
  await db
    .deleteFrom('offer_probe')
    .where('credential_id', '=', place.credentialId)
    .where('base_url', '=', place.baseUrl)
    .execute()
}

/** Plans a probe of an offer's key, unless one is planned. */
export async function planProbe(trx: Trx, offer: OfferId, nextAt: number): Promise<void> {
  await sql`insert into offer_probe (credential_id, base_url, next_at)
    select credential_id, base_url, ${new Date(nextAt)} from offer where id = ${offer}
    on conflict do nothing`.execute(trx)
}

/** The columns of an active offer that a probe needs. */
export type ProbedOffer = {
  readonly id: OfferId
  readonly sellerAccount: AccountId
  readonly model: string
  readonly providerModel: string
  readonly apiFormat: ApiFormat
}

/** The active offers that use a key at an address. */
export async function listProbedOffers(
  db: Database,
  place: Omit<ProbePlan, 'nextAt'>,
  limit: number,
): Promise<ProbedOffer[]> {
  return db
    .selectFrom('offer')
    .select([
      'id',
      'seller_account as sellerAccount',
      'model',
      'provider_model as providerModel',
      'api_format as apiFormat',
    ])
    .where('credential_id', '=', place.credentialId)
    .where('status', '=', 'active')
    .where('base_url', '=', place.baseUrl)
    .limit(limit)
    .execute()
}
