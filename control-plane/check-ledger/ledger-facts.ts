import type { ClientBase } from 'pg'

/** The facts of Postgres that the gate and the journals are compared with. Amounts are micro-USD. */
export type LedgerFacts = {
  /** Buyer accounts. */
  readonly balances: ReadonlyMap<string, { readonly balance: bigint; readonly version: bigint }>
  /** The settlements of the given request ids. */
  readonly settled: ReadonlyMap<string, { readonly charge: bigint; readonly payloadHash: string }>
  /** The request ids whose event a person discarded, or that belong to jobs and their ends. */
  readonly discarded: ReadonlySet<string>
  readonly jobs: ReadonlyMap<string, { readonly charge: bigint; readonly payloadHash: string }>
  /** The request ids whose event a payment by wallet keeps until it is booked. */
  readonly paying: ReadonlySet<string>
  /** The highest daily cap that each capped offer had today. Amounts taken under it are right. */
  readonly offerCaps: ReadonlyMap<string, bigint>
  /** The number of balances that the gate has not confirmed. */
  readonly unconfirmed: number
  /** The number of events that could not be posted. */
  readonly poisoned: number
  /** The number of events that contradict a settlement. */
  readonly conflicts: number
}

type Text = Readonly<Record<string, string | undefined>>

/** Reads the facts in the transaction of the client. */
export async function readFacts(client: ClientBase, rids: readonly string[]): Promise<LedgerFacts> {
  const accounts = await client.query<Text>(
    `select id, balance::text as balance, version::text as version from account where kind = 'buyer_credit'`,
  )
  const settled = await client.query<Text>(
    `select rid, charge::text as charge, payload_hash as hash from every_settlement where rid = any($1::text[])`,
    [rids],
  )
  const discarded = await client.query<Text>(
    `select rid from usage_poison where resolution = 'discarded' and rid = any($1::text[])`,
    [rids],
  )
  const jobs = await client.query<Text>(
    `select rid, quote::text as charge, payload_hash as hash from job where rid = any($1::text[])
      union all select rid || '.end', '0', payload_hash from job_end where rid || '.end' = any($1::text[])`,
    [rids],
  )
  const paying = await client.query<Text>(
    `select rid from chain_payment where event is not null and rid = any($1::text[])`,
    [rids],
  )
  const caps = await client.query<Text>(
    `select o.id, greatest(o.cap_daily_micro, max(c.cap_daily_micro))::text as cap
      from every_offer o left join offer_cap_change c
        on c.offer = o.id and c.at >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
      where o.cap_daily_micro is not null
      group by o.id, o.cap_daily_micro having count(*) filter (where c.id is not null and c.cap_daily_micro is null) = 0`,
  )
  const counts = await client.query<Text>(`select (select count(*) from account_change)::text as unconfirmed,
    (select count(*) from usage_poison where resolution is null)::text as poisoned,
    (select count(*) from usage_conflict where resolved_at is null)::text as conflicts`)
  const count = (name: string) => Number(counts.rows[0]?.[name] ?? 0)
  return {
    balances: new Map(
      accounts.rows.map((row) => [
        row['id'] ?? '',
        { balance: BigInt(row['balance'] ?? 0), version: BigInt(row['version'] ?? 0) },
      ]),
    ),
    settled: chargesOf(settled.rows),
    discarded: new Set(discarded.rows.map((row) => row['rid'] ?? '')),
    jobs: chargesOf(jobs.rows),
    paying: new Set(paying.rows.map((row) => row['rid'] ?? '')),
    offerCaps: new Map(caps.rows.map((row) => [row['id'] ?? '', BigInt(row['cap'] ?? 0)])),
    unconfirmed: count('unconfirmed'),
    poisoned: count('poisoned'),
    conflicts: count('conflicts'),
  }
}

function chargesOf(rows: readonly Text[]): Map<string, { charge: bigint; payloadHash: string }> {
  return new Map(
    rows.map((row) => [row['rid'] ?? '', { charge: BigInt(row['charge'] ?? 0), payloadHash: row['hash'] ?? '' }]),
  )
}
