import { sql } from 'kysely'
import type { Database } from './database.ts'

/** Takes or renews a lease for `ttlMs` milliseconds. Returns false while another owner holds it. */
export async function claimLease(db: Database, name: string, owner: string, ttlMs: number): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into worker_lease as held (name, owner, expires_at)
    values (${name}, ${owner}, now() + ${ttlMs} * interval '1 millisecond')
    on conflict (name) do update set owner = excluded.owner, expires_at = excluded.expires_at
    where held.owner = excluded.owner or held.expires_at < now()`.execute(db)
  return numAffectedRows === 1n
}

/** Releases a lease, so that the next owner need not wait until it ends. */
export async function releaseLease(db: Database, name: string, owner: string): Promise<void> {
  await db.deleteFrom('worker_lease').where('name', '=', name).where('owner', '=', owner).execute()
}
