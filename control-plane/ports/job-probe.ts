/** A long job, as far as its provider has to know. */
export type AskedJob = {
  /** The request id of its submit. */
  readonly rid: string
  readonly offer: string | null
  readonly providerJob: string
}

/** What the provider says of a job at its deadline; `unknown` is anything but a plain answer. */
export type JobVerdict = 'succeeded' | 'failed' | 'running' | 'unknown'

/** Asks the provider of a job how it stands. Does not throw. */
export type JobProbe = (job: AskedJob) => Promise<JobVerdict>
