import type { ClientBase } from 'pg'

/** What of Postgres the gate and the journals are compared with. Amounts are micro-USD. */
export type LedgerFacts = {
  /** Buyer accounts. */
  readonly balances: ReadonlyMap<string, { readonly balance: bigint; readonly version: bigint }>
  /** The settlements among the request ids asked for. */
  readonly settled: ReadonlyMap<string, { readonly charge: bigint; readonly payloadHash: string }>
  /** Daily caps of offers that have one. */
  readonly offerCaps: ReadonlyMap<string, bigint>
  /** Balances the gate has not confirmed, events that could not be posted, events that contradict a settlement. */
  readonly untold: number
  readonly poisoned: number
  readonly conflicts: number
}

type Text = Readonly<Record<string, string | undefined>>

/** Reads the facts in the transaction of the client. */
export async function readFacts(client: ClientBase, rids: readonly string[]): Promise<LedgerFacts> {
  const accounts = await client.query<Text>(
    `select id, balance::text as balance, version::text as version from account where kind = 'buyer_credit'`,
  )
  const settled = await client.query<Text>(
    `select rid, charge::text as charge, payload_hash as hash from settlement where rid = any($1::text[])`,
    [rids],
  )
  const caps = await client.query<Text>(
    `select id, cap_daily_micro::text as cap from offer where cap_daily_micro is not null`,
  )
  const counts = await client.query<Text>(`select (select count(*) from account_change)::text as untold,
    (select count(*) from usage_poison)::text as poisoned, (select count(*) from usage_conflict)::text as conflicts`)
  const count = (name: string) => Number(counts.rows[0]?.[name] ?? 0)
  return {
    balances: new Map(
      accounts.rows.map((row) => [
        row['id'] ?? '',
        { balance: BigInt(row['balance'] ?? 0), version: BigInt(row['version'] ?? 0) },
      ]),
    ),
    settled: new Map(
      settled.rows.map((row) => [
        row['rid'] ?? '',
        { charge: BigInt(row['charge'] ?? 0), payloadHash: row['hash'] ?? '' },
      ]),
    ),
    offerCaps: new Map(caps.rows.map((row) => [row['id'] ?? '', BigInt(row['cap'] ?? 0)])),
    untold: count('untold'),
    poisoned: count('poisoned'),
    conflicts: count('conflicts'),
  }
}
