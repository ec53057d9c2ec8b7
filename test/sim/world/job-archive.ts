import type { Job } from '#control-plane/db/jobs.ts'
import type { JobProvider } from '#control-plane/services/jobs/job-lines.ts'
import { recordOf } from '#control-plane/services/jobs/job-lines.ts'
import type { JobArchive } from '#control-plane/services/jobs/restore-jobs.ts'
import type { JobRecordText } from '#shared/contract/job-record.ts'
import type { LedgerSession } from '#test/sim/ledger/ledger-host.ts'
import type { Market } from '#test/sim/providers/market.ts'

type Places = ReadonlyMap<string, JobProvider>

/** The addresses and keys of all providers, by offer. */
export function placesIn({ offers, jobOffers }: Market): Places {
  return new Map(
    [...offers, ...jobOffers].map(({ id, baseUrl, apiFormat, credential: sealed }) => [
      id,
      { baseUrl, apiFormat, sealed },
    ]),
  )
}

/** The record of a job, rebuilt from the ledger. */
export function recordIn(places: Places, job: Job): JobRecordText | undefined {
  const place = places.get(job.offer ?? '')
  return place && recordOf(job, place)
}

/** The simulated ledger's records of jobs. It does not store the form in which their ends are shown. */
export function memoryArchive(session: LedgerSession, places: Places): JobArchive {
  return {
    list: ({ before, deadlineAfter, limit }) =>
      session.read(({ jobs, jobEnds }) =>
        [...jobs.values()]
          .filter(({ rid, deadlineAt }) => rid < before && deadlineAt.getTime() > deadlineAfter)
          .sort((a, b) => (a.rid < b.rid ? 1 : -1))
          .slice(0, limit)
          .map((job) => {
            const end = jobEnds.get(job.rid)
            return { ...job, shown: null, endEvent: end === undefined || end.bookedAt === null ? null : end.event }
          }),
      ),
    placesOf: async (jobs) =>
      new Map(
        jobs.flatMap(({ rid, offer }) => {
          const place = places.get(offer ?? '')
          return place === undefined ? [] : [[rid, place]]
        }),
      ),
    lentKeysOf: async () => new Map(),
    writtenOff: async () => new Set(),
    shownOf: () => undefined,
  }
}
