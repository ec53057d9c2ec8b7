/** Anything that runs as a process. */
export type RunningProcess = {
  readonly pid: number
  readonly exited: Promise<number>
  readonly stop: () => Promise<void>
}

export type CrewMember<Started extends RunningProcess = RunningProcess> = {
  readonly name: string
  /**
   * A member with `always` is restarted when it ends by itself. The end of one with `never` is only reported; tests
   * kill such members on purpose.
   */
  readonly restart: 'always' | 'never'
  /** Starts the member on a free port. A member whose port was taken meanwhile is restarted at once. */
  readonly start: () => Promise<Started>
}

export type CrewOptions = {
  /** Receives a sentence about every member that ends by itself. */
  readonly report: (line: string, member: string) => void
  readonly onPidsChange: (pids: Readonly<Record<string, number>>) => void
  /** Called when a member could not be kept running. */
  readonly onGiveUp: (member: string) => void
}
