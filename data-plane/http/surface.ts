import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import type { JobPlane } from '#data-plane/pipeline/jobs/job-plane.ts'
import type { Lookups } from '#data-plane/reads/look-up.ts'
import type { ReadSources } from '#data-plane/reads/read.ts'
import type { Time } from '#shared/clock.ts'
import type { Ids } from '#shared/ids.ts'
import type { Admission } from './admission.ts'
import type { SlowBodies } from './connection-limits.ts'
import type { ControlPrefix, Hosts, PlaneState, Row } from './row.ts'

/** The parts of the surface: its rows and what serves them. */
export type Surface = PlaneState & {
  readonly rows: readonly Row[]
  readonly calls: CallPlane
  readonly jobs: JobPlane
  readonly reads: ReadSources
  readonly lookups: Lookups
  readonly metrics: { text(): Promise<string>; readonly contentType: string }
  readonly clock: Time
  readonly ids: Ids
  readonly hosts: Hosts
  /**
   * The control plane's prefixes, and the address to which they are passed on. Without an address they are not served.
   */
  readonly control: { readonly prefixes: readonly ControlPrefix[]; readonly url: string | undefined }
  readonly maxOpenCalls: number
  readonly maxHeldBodyBytes: number
  readonly maxConnectionsPerAddress: number
  readonly trustedProxies: readonly string[]
  readonly admission: Admission
  readonly slowBodies: SlowBodies
  /** The count of calls under way. */
  readonly open: { count: number }
}
