import type { JobEndRow, JobRows } from '#control-plane/db/jobs.ts'
import { isId } from '#shared/ids.ts'
import type { Statement } from './ledger-host.ts'
import type { LedgerTables } from './ledger-tables.ts'

/** Jobs and their ends inside a transaction. Locks are not needed, because transactions run one after the other. */
export function memoryJobs(statement: Statement, wall: () => number): JobRows {
  return {
    openEscrow: (buyer) =>
      statement(({ accounts }) => {
        const account = `acc_escrow_${buyer.slice('acc_'.length)}`
        if (!isId('acc', account)) throw new RangeError('the account id is too long for an escrow account')
        if (!accounts.has(account)) accounts.set(account, { account, kind: 'job_escrow', balance: 0n, version: 0n })
        return account
      }),
    findJob: (rid) => statement(({ jobs }) => jobs.get(rid)),
    lockJob: (rid) => statement(({ jobs }) => jobs.get(rid)),
    insertJob: (job) =>
      statement(({ jobs }) => {
        if (jobs.has(job.rid)) return undefined
        const postedAt = new Date(wall())
        jobs.set(job.rid, {
          ...job,
          postedAt,
          endedAt: null,
          polls: 0,
          unknownPolls: 0,
          stoppedAt: null,
          deletedAt: null,
        })
        return postedAt
      }),
    addPaid: (rid, amount) =>
      statement(({ jobs }) => {
        const job = jobs.get(rid)
        if (job?.endedAt === null) jobs.set(rid, { ...job, paid: job.paid + amount })
      }),
    markJobEnded: (rid) =>
      statement(({ jobs }) => {
        const job = jobs.get(rid)
        if (job?.endedAt === null) jobs.set(rid, { ...job, endedAt: new Date(wall()) })
      }),
    receiveEnd: (end) =>
      statement(({ jobEnds }) => {
        if (!jobEnds.has(end.rid)) jobEnds.set(end.rid, { ...end, receivedAt: new Date(wall()), bookedAt: null })
        return jobEnds.get(end.rid)
      }),
    findEnd: (rid) => statement(({ jobEnds }) => jobEnds.get(rid)),
    replaceEnd: (end) =>
      statement((tables) =>
        changeUnbooked(tables, end.rid, (old) => ({ ...old, ...end, receivedAt: new Date(wall()) })),
      ),
    markEndBooked: (rid) =>
      statement((tables) => changeUnbooked(tables, rid, (old) => ({ ...old, bookedAt: new Date(wall()) }))),
  }
}

function changeUnbooked({ jobEnds }: LedgerTables, rid: string, change: (end: JobEndRow) => JobEndRow): void {
  const end = jobEnds.get(rid)
  if (end?.bookedAt === null) jobEnds.set(rid, change(end))
}
