import type { FeatureName } from '#shared/contract/features.ts'
import { AppError } from '#shared/errors.ts'
import type { CallPlane } from './call-plane.ts'

const RETRY_SECONDS = 30

/** Throws `service_unavailable` while operators have switched a feature off. Running calls are not checked. */
export function refuseSwitchedOff({ market }: Pick<CallPlane, 'market'>, feature: FeatureName): void {
  if (!market().limits.switchedOff.includes(feature)) return
  throw new AppError('service_unavailable', {
    detail: { limit_source: 'switched_off', limit_scope: 'platform', feature, resets_at: null },
    retryAfterSeconds: RETRY_SECONDS,
  })
}
