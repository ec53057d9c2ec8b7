import { openArtifact } from '#data-plane/pipeline/jobs/open-artifact.ts'
import type { JobStore } from '#data-plane/store/jobs.ts'
import { systemClock } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import { openJobFiles } from './job-files.ts'

/** The parts of a data plane for files of jobs, with a folder of its own. */
export function openFileNode(dir: string, jobs: JobStore) {
  const { artifacts, files } = openJobFiles({ dir, clock: systemClock, host: '127.0.0.1:1', find: jobs.find })
  const rates = { enter: () => undefined, leave: () => undefined }
  return {
    artifacts,
    jobs,
    /** Stores a file of four bytes and links to it. */
    async store(rid: RequestId, owner: string, of: { readonly isOfAnswer?: boolean } = {}): Promise<string> {
      const file = { owner, contentType: 'video/mp4', pieces: [Buffer.alloc(4)], ...of }
      return (await artifacts.keep({ rid, index: 0 }, file)).url
    },
    /** Opens a link. Returns the file's bytes, or the code of the refusal. */
    async open(link: string): Promise<unknown> {
      const { pathname, searchParams: query } = new URL(link)
      const [index, jobId] = pathname.split('/').reverse()
      const plane = { calls: { artifacts, rates }, jobs, files }
      const head = { params: { jobId, index }, query, headers: {} }
      try {
        const { file, leave } = await openArtifact(plane as never, { rails: [] }, head as never)
        leave()
        await file.close()
        return file.facts.bytes
      } catch (error) {
        return Object(error).code
      }
    },
    async close() {
      await files.close()
      await artifacts.close()
    },
  }
}
